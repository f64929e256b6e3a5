#include "orrery/simulate/explain/stage_timeline.h"

#include <cstdint>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/random_ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::ElementsAre;
using workload::Ensemble;
using workload::PartId;
using workload::Phase;
using workload::TaskId;

PartId AddPart(RankWriter& rank, Phase phase) {
  return rank.program.parts.Append(
      {.category = rank.program.strings.Intern("product"), .phase = phase, .chunk = 0});
}

TaskId Kernel(RankWriter& rank, std::int64_t duration_ps, PartId part, std::int32_t microbatch) {
  const TaskId task = rank.Kernel(duration_ps, part);
  rank.program.tasks.microbatch[task] = microbatch;
  return task;
}

// Forward of micro-batch 0: kernel 0–100, all-reduce 100–140, kernel 140–240. Backward: recomputed
// 240–290 and backward 290–340. Then a reduction of gradients 340–400 and the optimizer 400–420.
class StageTimelineTest : public ::testing::Test {
 protected:
  StageTimelineTest() {
    RankWriter rank({"tp", "dp"});
    const PartId forward = AddPart(rank, Phase::kForward);
    const PartId recompute = AddPart(rank, Phase::kRecompute);
    const PartId backward = AddPart(rank, Phase::kBackward);
    const PartId optimizer = AddPart(rank, Phase::kOptimizer);
    const TaskId first = Kernel(rank, 100, forward, 0);
    rank.program.memory_changes.Append(
        {.task = first, .category = rank.program.strings.Intern("activations"), .bytes = 70});
    const TaskId sum = rank.Talk(0, 40);
    rank.After(first, sum);
    rank.After(sum, Kernel(rank, 100, forward, 0));
    Kernel(rank, 50, recompute, 0);
    const TaskId last = Kernel(rank, 50, backward, 0);
    rank.program.memory_changes.Append(
        {.task = last, .category = rank.program.strings.Intern("activations"), .bytes = -70});
    const TaskId reduction = rank.Talk(1, 60);
    rank.After(last, reduction);
    rank.After(reduction, Kernel(rank, 20, optimizer, -1));
    rank.program.held_memory.Append(
        {.category = rank.program.strings.Intern("parameters"), .bytes = 30});
    ensemble_.num_roles = 2;
    ensemble_.programs.push_back(std::move(rank.program));
    for (int i = 0; i < 2; ++i) {
      AddRank(ensemble_, 0);
    }
    Join(ensemble_, 0, {0, 1});
    Join(ensemble_, 1, {0, 1});
    rank_classes_ = Fold(ensemble_, IslandLinkClass(8));
    simulated_ = *Simulate(rank_classes_, times_);
  }

  Ensemble ensemble_;
  PlainTimes times_;
  RankClasses rank_classes_;
  Timeline simulated_;
};

TEST_F(StageTimelineTest, KernelsOfAPassAreOneSlice) {
  const StageTimeline timeline = StageTimelineOf(rank_classes_, simulated_, 0);

  EXPECT_THAT(timeline.passes,
              ElementsAre(PassSlice{0, 240, PassKind::kForward, 0, 0, "", 40},
                          PassSlice{240, 340, PassKind::kBackward, 0, 0, "", 0},
                          PassSlice{340, 400, PassKind::kTransfer, -1, -1, "dp", 0},
                          PassSlice{400, 420, PassKind::kOptimizer, -1, 0, "", 0}));
  EXPECT_THAT(timeline.inside, ElementsAre(TimeSlice{100, 140, TimeKind::kTransfer, "tp", true}));
}

TEST_F(StageTimelineTest, DimensionsAreAddedUp) {
  const Breakdown breakdown = BreakdownOf(rank_classes_, simulated_, 0);

  EXPECT_THAT(
      DimensionTotals(rank_classes_, simulated_, breakdown),
      ElementsAre(DimensionTotal{"dp", 1, 60, 60, 0, 60}, DimensionTotal{"tp", 1, 40, 40, 0, 40}));
  EXPECT_EQ(MeansOf(rank_classes_, simulated_).exposed_ps, 100);
}

// Four columns of 105: activations are held from 0 to 340, the begin of the last column is 315.
TEST_F(StageTimelineTest, AColumnOfMemoryShowsItsFullestInstant) {
  const MemoryColumns columns = MemoryColumnsOf(rank_classes_, simulated_, 0, 4);

  EXPECT_THAT(columns.categories, ElementsAre("parameters", "activations"));
  EXPECT_THAT(columns.bytes, ElementsAre(ElementsAre(30, 70), ElementsAre(30, 70),
                                         ElementsAre(30, 70), ElementsAre(30, 70)));
  // Eight columns of 52.5: the seventh begins at 315, the eighth at 367.5.
  EXPECT_THAT(MemoryColumnsOf(rank_classes_, simulated_, 0, 8).bytes.back(), ElementsAre(30, 0));
}

RC_GTEST_PROP(StageTimelineProperty, PassesFollowEachOther, (const RandomJob& job)) {
  const Ensemble ensemble = job.Write();
  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(4));
  PlainTimes times(4);
  const Timeline simulated = *Simulate(rank_classes, times);
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    std::int64_t end_ps = 0;
    for (const PassSlice& pass : StageTimelineOf(rank_classes, simulated, rank_class).passes) {
      RC_ASSERT(pass.begin_ps >= end_ps);
      RC_ASSERT(pass.end_ps > pass.begin_ps);
      end_ps = pass.end_ps;
    }
    RC_ASSERT(end_ps <= simulated.EndPs());
  }
}

RC_GTEST_PROP(StageTimelineProperty, SlicesAreTheBreakdownAlongTime, (const RandomJob& job)) {
  const Ensemble ensemble = job.Write();
  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(4));
  PlainTimes times(4);
  const Timeline simulated = *Simulate(rank_classes, times);
  const Breakdown breakdown = BreakdownOf(rank_classes, simulated, 0);
  std::int64_t now_ps = 0;
  std::int64_t compute_ps = 0;
  for (const TimeSlice& slice : SlicesOf(rank_classes, simulated, breakdown.rank_class)) {
    RC_ASSERT(slice.begin_ps == now_ps);
    now_ps = slice.end_ps;
    compute_ps += slice.kind == TimeKind::kCompute ? slice.end_ps - slice.begin_ps : 0;
  }
  RC_ASSERT(now_ps == breakdown.step_ps);
  RC_ASSERT(compute_ps == breakdown.TotalPs(TimeKind::kCompute));
}

}  // namespace
}  // namespace orrery::simulate
