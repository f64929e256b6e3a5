#include "orrery/workload/recorded/overheads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;

Call Make(CallKind kind, std::int64_t begin_us, std::int64_t end_us, std::uint32_t descendants) {
  return {.kind = kind,
          .begin_ns = begin_us * 1000,
          .duration_ns = (end_us - begin_us) * 1000,
          .num_descendants = descendants};
}

// An operator 0–100 with one child 5–95 that launches at 30–40 and 60–70; the profiler costs 2.
// One event (the child) before the first launch, none before the second, four in all:
// T2 = 30 − 2·1, T5 = 60 − 40, T3 = 100 − 70 − 2·(4 − (2 + 1)).
TEST(OverheadsTest, NestedOperatorWithTwoLaunches) {
  const std::vector<Call> calls{
      Make(CallKind::kOperator, 0, 100, 3), Make(CallKind::kOperator, 5, 95, 2),
      Make(CallKind::kLaunch, 30, 40, 0), Make(CallKind::kLaunch, 60, 70, 0)};

  const OperatorOverheads overheads = OverheadsOf(calls, 0, 2000);

  EXPECT_EQ(overheads.t2_ns, 28'000);
  EXPECT_THAT(overheads.t4_ns, ElementsAre(10'000, 10'000));
  EXPECT_THAT(overheads.t5_ns, ElementsAre(20'000));
  EXPECT_EQ(overheads.t3_ns, 28'000);
}

// A view 0–9 with a child: no launch, so T5 is 9 − 2·2.
TEST(OverheadsTest, OperatorWithoutLaunchIsOnePiece) {
  const std::vector<Call> calls{Make(CallKind::kOperator, 0, 9, 1),
                                Make(CallKind::kOperator, 2, 6, 0)};

  const OperatorOverheads overheads = OverheadsOf(calls, 0, 2000);

  EXPECT_FALSE(overheads.t2_ns.has_value());
  EXPECT_THAT(overheads.t5_ns, ElementsAre(5'000));
}

// Gaps of 10, 1 and 300 between four operators: one is too short, one too long to be overhead.
TEST(OverheadsTest, OnlyGapsOfPlausibleLengthCount) {
  const std::vector<Call> calls{Make(CallKind::kRoot, 0, 0, 4), Make(CallKind::kOperator, 0, 10, 0),
                                Make(CallKind::kOperator, 20, 30, 0),
                                Make(CallKind::kOperator, 31, 40, 0),
                                Make(CallKind::kOperator, 340, 350, 0)};

  EXPECT_THAT(GapsBetweenCalls(calls, 0, 2000), ElementsAre(8'000));
}

}  // namespace
}  // namespace orrery::workload
