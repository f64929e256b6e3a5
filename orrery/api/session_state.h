#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/simulation.h"

namespace orrery::api {

/// Contents of a session. Thread-safe.
struct SessionState {
  /// The models of files; without any, the shipped ones. Files are read at each call, since they
  /// may have changed.
  [[nodiscard]] Result<std::shared_ptr<const kernel::ModelSet>> Models(
      const std::vector<std::string>& files);

  /// The same with a memory of estimates. That of the shipped models, or of the model that SetCosts
  /// put in their place, is shared by all calls.
  [[nodiscard]] Result<std::shared_ptr<const kernel::CostModel>> Costs(
      const std::vector<std::string>& files);

  void SetCosts(std::shared_ptr<const kernel::CostModel> costs);

  /// Loads the model of concurrent kernels where `options` ask for one; it lives as long as the
  /// session.
  [[nodiscard]] Status SetOverlapModel(simulate::SimulationOptions& options);

 private:
  [[nodiscard]] Result<std::shared_ptr<const kernel::ModelSet>> ShippedModels();

  std::mutex mutex_;
  std::shared_ptr<const kernel::ModelSet> shipped_;
  std::shared_ptr<const kernel::CostModel> costs_;
  std::shared_ptr<const overlap::Model> overlap_;
};

/// Reads model files.
[[nodiscard]] Result<std::shared_ptr<const kernel::ModelSet>> ReadKernelModels(
    const std::vector<std::string>& files);

/// The default model of how kernels that run together slow each other down: the same for all verbs
/// and for the fit of the scalars of frameworks.
inline constexpr simulate::OverlapKind kDefaultOverlap = simulate::OverlapKind::kModel;

/// Simulation as all verbs do it by default.
[[nodiscard]] Result<simulate::SimulationOptions> DefaultOptions(SessionState& state);

}  // namespace orrery::api
