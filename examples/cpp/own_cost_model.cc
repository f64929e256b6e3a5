// Simulates a job with a cost model of one's own: the shipped one, with GEMMs at half their speed.
//
//   own_cost_model examples/llama3-8b-fsdp-64-h100.yaml

#include <cstddef>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>

#include "orrery/api/cost_model.h"
#include "orrery/api/session.h"
#include "orrery/api/simulate.h"
#include "orrery/kernel/estimate.h"

namespace {

using orrery::kernel::CostModel;
using orrery::kernel::Estimate;
using orrery::kernel::Operator;
using orrery::kernel::OperatorKind;

class SlowGemms : public CostModel {
 public:
  explicit SlowGemms(std::shared_ptr<const CostModel> shipped) : shipped_(std::move(shipped)) {}

  void Predict(std::span<const Operator> operators, const orrery::hardware::Gpu& gpu,
               std::span<Estimate> estimates) const override {
    shipped_->Predict(operators, gpu, estimates);
    for (std::size_t i = 0; i < operators.size(); ++i) {
      if (operators[i].kind() == OperatorKind::kGemm) {
        estimates[i].seconds *= 2;
      }
    }
  }

 private:
  std::shared_ptr<const CostModel> shipped_;
};

bool PrintStep(const orrery::api::Session& session, const char* job, const char* model) {
  const auto result = orrery::api::Simulate(session, {.jobs = {job}, .step_only = true});
  if (!result) {
    std::fprintf(stderr, "own_cost_model: %s\n", result.error().message().c_str());
    return false;
  }
  std::printf("%.6f s  %s\n", result->step_time_s, model);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: own_cost_model JOB.yaml\n");
    return 2;
  }
  const orrery::api::Session session;
  const auto shipped = orrery::api::KernelCosts(session);
  if (!shipped || !PrintStep(session, argv[1], "shipped model")) {
    return 2;
  }
  orrery::api::UseKernelCosts(session, std::make_shared<SlowGemms>(*shipped));
  return PrintStep(session, argv[1], "GEMMs at half their speed") ? 0 : 2;
}
