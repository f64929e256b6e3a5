#include "orrery/api/cost_model.h"

#include <memory>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/api/session.h"
#include "orrery/api/simulate.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "test_paths.h"

namespace orrery::api {
namespace {

/// Another model, twice as slow.
class TwiceAsSlow : public kernel::CostModel {
 public:
  explicit TwiceAsSlow(std::shared_ptr<const CostModel> model) : model_(std::move(model)) {}

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override {
    model_->Predict(operators, gpu, estimates);
    for (kernel::Estimate& estimate : estimates) {
      estimate.seconds *= 2;
    }
  }

 private:
  std::shared_ptr<const CostModel> model_;
};

double StepTime(const Session& session) {
  const std::string job = ORRERY_TEST_DATA "/../../examples/gpt-345m-tp.yaml";
  const Result<SimulateResult> result = Simulate(session, {.jobs = {job}, .step_only = true});
  EXPECT_TRUE(result) << result.error().message();
  return result ? result->step_time_s : 0;
}

TEST(UseKernelCosts, ReplacesTheShippedModelInThisSessionOnly) {
  const Session session;
  const double shipped = StepTime(session);
  const auto costs = KernelCosts(session);
  ASSERT_TRUE(costs);

  UseKernelCosts(session, std::make_shared<TwiceAsSlow>(*costs));

  EXPECT_GT(StepTime(session), 1.2 * shipped);
  EXPECT_EQ(StepTime(Session()), shipped);
}

}  // namespace
}  // namespace orrery::api
