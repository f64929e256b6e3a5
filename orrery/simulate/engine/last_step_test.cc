
#include <cstdint>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::ElementsAre;

/// For programs without communication.
class NoTimes : public CommunicationTimes {
 public:
  [[nodiscard]] Result<std::int64_t> DurationPs(const workload::Communications::Row& /*row*/,
                                                std::span<const network::GpuId> /*gpus*/) override {
    return 0;
  }
};

// A launch of 10 and its kernel of 30, three times. The host launches at 0, 10 and 20, kernels run
// from 10 to 40, 70 and 100. From the end of the second step, at 70, the third launch was at
// -50 to -40 and its kernel runs from 0 to 30.
TEST(LastStepTest, TimesCountFromTheEndOfTheStepBefore) {
  workload::Program program;
  program.lanes.Append({.kind = workload::LaneKind::kHostThread});
  program.lanes.Append({.kind = workload::LaneKind::kStream});
  program.tasks.Append({.lane = 0, .kind = workload::TaskKind::kLaunch, .duration_ps = 10});
  program.tasks.Append(
      {.lane = 1, .kind = workload::TaskKind::kKernel, .duration_ps = 30, .launch = 0});
  NoTimes times;
  const auto simulated = Simulate(SingleRank(program), times, {.repetitions = 3});
  ASSERT_TRUE(simulated);

  const Timeline step = LastStep(*simulated);

  EXPECT_EQ(step.repetitions, 1);
  EXPECT_THAT(step.begin_ps, ElementsAre(-50, 0));
  EXPECT_THAT(step.end_ps, ElementsAre(-40, 30));
  EXPECT_THAT(step.transfer_ps, ElementsAre(kNeverPs, kNeverPs));
  EXPECT_EQ(step.EndPs(), 30);
}

TEST(LastStepTest, OneStepStaysAsItIs) {
  Timeline timeline;
  timeline.offsets = {0, 1};
  timeline.begin_ps = {5};
  timeline.end_ps = {7};
  timeline.transfer_ps = {kNeverPs};

  EXPECT_EQ(LastStep(timeline), timeline);
}

}  // namespace
}  // namespace orrery::simulate
