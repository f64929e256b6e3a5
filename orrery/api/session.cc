#include "orrery/api/session.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/session_state.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/simulate/simulation.h"

namespace orrery::api {
namespace {

/// Estimates that are remembered, and the model that made them.
struct RememberedCosts {
  explicit RememberedCosts(std::shared_ptr<const kernel::CostModel> costs)
      : model(std::move(costs)), memo(*model) {}

  std::shared_ptr<const kernel::CostModel> model;
  kernel::GpuMemo memo;
};

std::shared_ptr<const kernel::CostModel> Remembered(
    std::shared_ptr<const kernel::CostModel> model) {
  auto costs = std::make_shared<const RememberedCosts>(std::move(model));
  return {costs, &costs->memo};
}

}  // namespace

Session::Session() : state_(std::make_unique<SessionState>()) {}

Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<std::shared_ptr<const kernel::ModelSet>> ReadKernelModels(
    const std::vector<std::string>& files) {
  ORRERY_TRY(kernel::ModelSet models, kernel::ReadModels(files));
  return std::make_shared<const kernel::ModelSet>(std::move(models));
}

Result<std::shared_ptr<const kernel::ModelSet>> SessionState::ShippedModels() {
  if (shipped_ == nullptr) {
    ORRERY_TRY(kernel::ModelSet models, kernel::ShippedModels());
    shipped_ = std::make_shared<const kernel::ModelSet>(std::move(models));
  }
  return shipped_;
}

Result<std::shared_ptr<const kernel::ModelSet>> SessionState::Models(
    const std::vector<std::string>& files) {
  if (!files.empty()) {
    return ReadKernelModels(files);
  }
  const std::lock_guard lock(mutex_);
  return ShippedModels();
}

Result<std::shared_ptr<const kernel::CostModel>> SessionState::Costs(
    const std::vector<std::string>& files) {
  if (!files.empty()) {
    ORRERY_TRY(std::shared_ptr<const kernel::ModelSet> models, ReadKernelModels(files));
    return Remembered(std::move(models));
  }
  const std::lock_guard lock(mutex_);
  if (costs_ == nullptr) {
    ORRERY_TRY(std::shared_ptr<const kernel::ModelSet> models, ShippedModels());
    costs_ = Remembered(std::move(models));
  }
  return costs_;
}

void SessionState::SetCosts(std::shared_ptr<const kernel::CostModel> costs) {
  const std::lock_guard lock(mutex_);
  costs_ = Remembered(std::move(costs));
}

Status SessionState::SetOverlapModel(simulate::SimulationOptions& options) {
  if (options.overlap != simulate::OverlapKind::kModel) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  if (overlap_ == nullptr) {
    ORRERY_TRY(overlap_, overlap::ShippedModel());
  }
  options.overlap_model = overlap_.get();
  return {};
}

Result<simulate::SimulationOptions> DefaultOptions(SessionState& state) {
  simulate::SimulationOptions options;
  options.overlap = kDefaultOverlap;
  ORRERY_TRY_STATUS(state.SetOverlapModel(options));
  return options;
}

}  // namespace orrery::api
