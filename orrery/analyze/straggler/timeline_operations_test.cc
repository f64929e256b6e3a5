#include "orrery/analyze/straggler/timeline_operations.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery::analyze {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Optional;

// Times in ms.
class Timeline {
 public:
  struct Worker {
    int dp_rank = 0;
    int stage = 0;
    int step = 1;
  };

  Timeline& Add(Worker worker, std::string_view type, std::int64_t begin, std::int64_t end,
                std::int64_t seq_id = 0) {
    rows_.AddRow({std::int64_t{worker.dp_rank}, std::int64_t{worker.stage},
                  std::int64_t{worker.dp_rank * 2 + worker.stage}, std::int64_t{worker.step},
                  seq_id, std::int64_t{0}, std::string(type), begin * 1'000'000,
                  (end - begin) * 1'000'000});
    return *this;
  }

  [[nodiscard]] Result<StragglerSlowdown> Measure() const {
    ORRERY_TRY(const OperationSteps operations, TimelineOperations(rows_));
    return MeasureStragglers(operations, 2);
  }

 private:
  Table rows_{{"dp_rank", Table::Type::kInteger},    {"stage", Table::Type::kInteger},
              {"rank", Table::Type::kInteger},       {"step", Table::Type::kInteger},
              {"seq_id", Table::Type::kInteger},     {"mc", Table::Type::kInteger},
              {"optype", Table::Type::kText},        {"start_ns", Table::Type::kInteger},
              {"duration_ns", Table::Type::kInteger}};
};

// One stage on two data-parallel ranks; the second needs twice as long:
//   rank 0: all-gather 0–5, forward 5–15, backward 15–35, reduce-scatter 35–70, optimizer 70–72
//   rank 1: all-gather 0–5, forward 5–25, backward 25–65, reduce-scatter 65–70, optimizer 70–72
Timeline OneSlowRank() {
  Timeline timeline;
  for (const int dp : {0, 1}) {
    const Timeline::Worker worker{.dp_rank = dp};
    const int slow = dp + 1;
    timeline.Add(worker, "params-all-gather", 0, 5)
        .Add(worker, "forward-compute", 5, 5 + 10 * slow)
        .Add(worker, "backward-compute", 5 + 10 * slow, 5 + 30 * slow)
        .Add(worker, "grads-reduce-scatter", 5 + 30 * slow, 70)
        .Add(worker, "optimizer", 70, 72);
  }
  return timeline;
}

// Ideal: forward 15, backward 30, all-gather and reduce-scatter 5 (from the last start on),
// optimizer 2: 57. As measured 72. With the measured forward 62, backward 67; rank 0 is faster than
// ideal and so does not matter (its 30 against the 45 of the other), rank 1 takes all 72.
TEST(TimelineOperationsTest, ASlowRankAndWhatIsSlowOnItHaveTheBlame) {
  const StragglerSlowdown slowdown = OneSlowRank().Measure().value();

  EXPECT_EQ(slowdown.measured_ns, 72e6);
  EXPECT_EQ(slowdown.nodelay_ns, 72e6);
  EXPECT_EQ(slowdown.ideal_ns, 57e6);
  EXPECT_DOUBLE_EQ(slowdown.slowdown, 72.0 / 57);
  EXPECT_DOUBLE_EQ(slowdown.launch_slowdown, 1);
  EXPECT_THAT(slowdown.classes,
              ElementsAre("forward-compute", "backward-compute", "params-all-gather",
                          "grads-reduce-scatter", "optimizer"));
  EXPECT_THAT(slowdown.by_class,
              ElementsAre(DoubleEq(62.0 / 57), DoubleEq(67.0 / 57), 1.0, 1.0, 1.0));
  EXPECT_THAT(slowdown.by_dp_rank, ElementsAre(1.0, DoubleEq(72.0 / 57)));
  EXPECT_THAT(slowdown.by_stage, ElementsAre(DoubleEq(72.0 / 57)));
  EXPECT_THAT(slowdown.by_worker, ElementsAre(Optional(1.0), Optional(DoubleEq(72.0 / 57))));
}

// The worst 3 % of two workers is one, rank 1. With its ideal durations the step takes 57 ms, since
// rank 0 is faster: all of the slowdown goes. Alone it takes 72: all of it is there.
TEST(TimelineOperationsTest, TheWorstWorkersShareIsWhatFixingThemSaves) {
  const StragglerSlowdown slowdown = OneSlowRank().Measure().value();

  EXPECT_THAT(slowdown.worst_workers.workers, ElementsAre(1));
  EXPECT_EQ(slowdown.worst_workers.fixed_ns, 57e6);
  EXPECT_EQ(slowdown.worst_workers.alone_ns, 72e6);
  EXPECT_THAT(slowdown.worst_workers.removed, Optional(1.0));
  EXPECT_THAT(slowdown.worst_workers.added, Optional(1.0));
  EXPECT_FALSE(slowdown.last_stage.has_value());
}

// Two stages, two micro-batches: forward 10 ms, backward 20, messages 1, optimizer 2. Stage 1 does
// forward and backward in turn. `late` is a launch delay before its last backward, on which the
// rest of the step waits: 94 ms without it.
Timeline Pipeline(std::int64_t late) {
  const Timeline::Worker first{.stage = 0};
  const Timeline::Worker last{.stage = 1};
  Timeline timeline;
  timeline.Add(first, "forward-compute", 0, 10)
      .Add(first, "forward-compute", 10, 20, 1)
      .Add(first, "forward-send", 10, 11)
      .Add(first, "forward-send", 20, 22, 1)
      .Add(first, "backward-recv", 10, 42)
      .Add(first, "backward-compute", 42, 62)
      .Add(first, "backward-recv", 62, 72 + late, 1)
      .Add(first, "backward-compute", 72 + late, 92 + late, 1)
      .Add(first, "optimizer", 92 + late, 94 + late);
  timeline.Add(last, "forward-recv", 0, 11)
      .Add(last, "forward-compute", 11, 21)
      .Add(last, "forward-recv", 21, 22, 1)
      .Add(last, "backward-compute", 21, 41)
      .Add(last, "backward-send", 41, 42)
      .Add(last, "forward-compute", 41, 51, 1)
      .Add(last, "backward-compute", 51 + late, 71 + late, 1)
      .Add(last, "backward-send", 71 + late, 72 + late, 1)
      .Add(last, "optimizer", 71 + late, 73 + late);
  return timeline;
}

TEST(TimelineOperationsTest, APipelineWithoutDelaysReplaysAsRecorded) {
  const StragglerSlowdown slowdown = Pipeline(0).Measure().value();

  EXPECT_EQ(slowdown.measured_ns, 94e6);
  EXPECT_EQ(slowdown.nodelay_ns, 94e6);
  EXPECT_EQ(slowdown.ideal_ns, 94e6);
  EXPECT_EQ(slowdown.slowdown, 1);
  EXPECT_EQ(slowdown.worst_workers.removed, std::nullopt);
  EXPECT_TRUE(slowdown.last_stage.has_value());
}

TEST(TimelineOperationsTest, LaunchDelaysAreNoStragglers) {
  const StragglerSlowdown slowdown = Pipeline(5).Measure().value();

  EXPECT_EQ(slowdown.measured_ns, 99e6);
  EXPECT_EQ(slowdown.nodelay_ns, 94e6);
  EXPECT_EQ(slowdown.slowdown, 1);
  EXPECT_DOUBLE_EQ(slowdown.launch_slowdown, 99.0 / 94);
}

// Without pipeline and communication a step is as long as its slowest rank, and an ideal one as
// long as the mean forward and the mean backward, each rounded to the nanosecond.
RC_GTEST_PROP(TimelineOperationsTest, OfIndependentRanksTheSlowestCountsAgainstTheMeans, ()) {
  const auto durations = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 1000), rc::gen::inRange(1, 1000))));
  Timeline timeline;
  std::int64_t slowest = 0;
  std::vector<std::int64_t> forward_ns;
  std::vector<std::int64_t> backward_ns;
  for (const auto& [forward, backward] : durations) {
    const Timeline::Worker worker{.dp_rank = static_cast<int>(forward_ns.size())};
    timeline.Add(worker, "forward-compute", 0, forward)
        .Add(worker, "backward-compute", forward, forward + backward);
    slowest = std::max<std::int64_t>(slowest, forward + backward);
    forward_ns.push_back(forward * std::int64_t{1'000'000});
    backward_ns.push_back(backward * std::int64_t{1'000'000});
  }
  const StragglerSlowdown slowdown = timeline.Measure().value();

  RC_ASSERT(slowdown.nodelay_ns == static_cast<double>(slowest) * 1e6);
  RC_ASSERT(slowdown.ideal_ns == static_cast<double>(MeanNs(forward_ns) + MeanNs(backward_ns)));
  RC_ASSERT(slowdown.slowdown >= 1 - 1e-9);
  RC_ASSERT(*std::ranges::max_element(slowdown.by_dp_rank) == slowdown.slowdown);
}

std::string ErrorOf(const Timeline& timeline) {
  const auto measured = timeline.Measure();
  return measured ? "" : measured.error().message();
}

TEST(TimelineOperationsTest, WhatCannotBeReplayedIsRefused) {
  EXPECT_THAT(ErrorOf(Timeline().Add({}, "backward", 0, 1)),
              HasSubstr("optype 'backward' is not known; known are forward-compute"));
  EXPECT_THAT(ErrorOf(Timeline().Add({}, "gc", 0, 1).Add({}, "gc", 0, 1)),
              HasSubstr("1 steps, 1 dp ranks and 1 operations do not make 2 rows"));
  EXPECT_THAT(ErrorOf(OneSlowRank().Add({}, "gc", 70, 70)), HasSubstr("do not make 11 rows"));
  EXPECT_THAT(ErrorOf(Timeline()
                          .Add({}, "gc", 0, 1)
                          .Add({}, "gc", 0, 1)
                          .Add({}, "optimizer", 1, 2)
                          .Add({.dp_rank = 1}, "gc", 0, 1)),
              HasSubstr("dp rank 0, stage 0: gc 0 is there twice"));
  EXPECT_THAT(ErrorOf(Timeline().Add({}, "forward-send", 0, 1)),
              HasSubstr("stage 0 has 1 forward-send, but 0 forward-compute"));
  EXPECT_THAT(
      ErrorOf(Timeline().Add({}, "forward-compute", 0, 1).Add({}, "forward-send", 1, 2)),
      HasSubstr("between stage 0 and the next there are 1 sends, but 0 receives (forward-send)"));
  EXPECT_THAT(ErrorOf(Timeline().Add({}, "gc", 0, 0)), HasSubstr("take no time"));
}

}  // namespace
}  // namespace orrery::analyze
