#include "orrery/simulate/ensemble_trace.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/pair_models_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/folded_ranks.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::ElementsAre;
using workload::Ensemble;
using workload::Rank;
using workload::TaskId;

constexpr std::int64_t kMicrosecond = 1'000'000;

constexpr std::uint32_t kTp = 0;
constexpr std::uint32_t kDp = 1;
constexpr std::uint32_t kPp = 2;

/// A kernel that the program names like the one it stands for.
TaskId Product(RankWriter& rank, std::int64_t duration_ps) {
  const TaskId task = rank.Kernel(duration_ps);
  rank.program.tasks.name[task] = rank.program.strings.Intern("gemm");
  return task;
}

/// Two stages with tp 2 and dp 2, ranks tp first, then dp, then pp. Stage 0 computes 100
/// µs, adds in its tensor group (50 kB: 50 µs at a picosecond a byte and 1,000 times that), sends
/// on; stage 1 receives, computes 150 µs; then all reduce over their replicas.
Ensemble TwoStages() {
  Ensemble ensemble;
  ensemble.num_roles = 3;
  for (const bool is_last : {false, true}) {
    RankWriter rank({"tp", "dp", "pp forward 0"});
    const TaskId receive = is_last ? rank.Message(kPp, 10 * kMicrosecond) : 0;
    const TaskId product = Product(rank, (is_last ? 150 : 100) * kMicrosecond);
    const TaskId sum = rank.Talk(kTp, 50 * kMicrosecond);
    rank.After(product, sum);
    if (is_last) {
      rank.After(receive, product);
    } else {
      rank.After(sum, rank.Message(kPp, 10 * kMicrosecond));
    }
    rank.After(sum, rank.Talk(kDp, 30 * kMicrosecond));
    rank.program.held_memory.Append(
        {.category = rank.program.strings.Intern("parameters"), .bytes = 1000});
    rank.program.memory_changes.Append(
        {.task = product, .category = rank.program.strings.Intern("activations"), .bytes = 500});
    rank.program.memory_changes.Append(
        {.task = sum, .category = rank.program.strings.Intern("activations"), .bytes = -500});
    ensemble.programs.push_back(std::move(rank.program));
  }
  for (Rank rank = 0; rank < 8; ++rank) {
    AddRank(ensemble, rank / 4);
  }
  for (const Rank stage : {0U, 4U}) {
    Join(ensemble, kTp, {stage, stage + 1});
    Join(ensemble, kTp, {stage + 2, stage + 3});
    Join(ensemble, kDp, {stage, stage + 2});
    Join(ensemble, kDp, {stage + 1, stage + 3});
  }
  for (Rank rank = 0; rank < 4; ++rank) {
    Join(ensemble, kPp, {rank, rank + 4});
  }
  return ensemble;
}

class EnsembleTraceTest : public ::testing::Test {
 protected:
  EnsembleTraceTest()
      : ensemble_(TwoStages()),
        rank_classes_(Fold(ensemble_, IslandLinkClass(8))),
        simulated_(*Simulate(rank_classes_, times_)) {}

  [[nodiscard]] double Measured(trace::TraceSet& set, std::string_view metric) const {
    const analyze::RunView run = analyze::ViewRun(set, {}, {});
    const analyze::MetricResult result = analyze::Evaluate(*analyze::FindMetric(metric), run);
    EXPECT_TRUE(result.is_ok()) << metric << ": " << result.reason;
    return result.value.value_or(-1);
  }

  /// Transfers and waits of classes, as seconds a rank.
  [[nodiscard]] double MeanExposedSeconds() const {
    double sum = 0;
    for (RankClassId rank_class = 0; rank_class < rank_classes_.classes.size(); ++rank_class) {
      const Breakdown breakdown = BreakdownOf(rank_classes_, simulated_, rank_class);
      sum += static_cast<double>(breakdown.TotalPs(TimeKind::kTransfer) +
                                 breakdown.TotalPs(TimeKind::kWait));
    }
    return sum / static_cast<double>(rank_classes_.classes.size()) / 1e12;
  }

  Ensemble ensemble_;
  RankClasses rank_classes_;
  PlainTimes times_;
  Timeline simulated_;
};

// Stage 0: product 0–100, sum 100–150, send 150–160, reduction 160–190. Stage 1:
// receive waits 0–150 and runs 150–160, product 160–310, sum 310–360, reduction 360–390.
TEST_F(EnsembleTraceTest, EveryRankHasItsTimes) {
  ASSERT_EQ(rank_classes_.classes.size(), 2U);

  const trace::TraceSet set = EnsembleTrace(rank_classes_, simulated_, {.gpu = "H100"});

  ASSERT_EQ(set.ranks.size(), 8U);
  EXPECT_THAT(set.ranks[2].activities.begin_ns, ElementsAre(0, 100'000, 150'000, 160'000));
  EXPECT_THAT(set.ranks[6].activities.begin_ns, ElementsAre(0, 160'000, 310'000, 360'000));
  EXPECT_THAT(set.ranks[6].activities.duration_ns, ElementsAre(160'000, 150'000, 50'000, 30'000));
  EXPECT_THAT(set.ranks[6].steps.duration_ns, ElementsAre(390'000));
  EXPECT_THAT(set.ranks[6].memory_events.total_allocated_bytes, ElementsAre(1000, 1500, 1000));
  EXPECT_EQ(set.ranks[6].collectives.peer[0], 2);
  EXPECT_EQ(set.ranks[6].collectives.kind[0], CollectiveKind::kRecv);
  EXPECT_EQ(set.ranks[6].info.world_size, 8);
}

// A launch of 10 µs and its kernel of 30, three times; the third launch is 50 µs before the end of
// the second kernel (LastStepTest). Its step is 30 µs long and begins with it.
TEST(EnsembleTraceOfLastStepTest, AStepBeginsWithTheHostThatRunsAhead) {
  RankWriter rank({});
  rank.Launched(10 * kMicrosecond, 30 * kMicrosecond);
  Ensemble ensemble;
  ensemble.programs.push_back(std::move(rank.program));
  AddRank(ensemble, 0);
  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(8));
  PlainTimes times;
  const Timeline step = LastStep(*Simulate(rank_classes, times, {.repetitions = 3}));

  const trace::TraceSet set = EnsembleTrace(rank_classes, step, {.gpu = "H100"});

  EXPECT_THAT(set.ranks[0].steps.begin_ns, ElementsAre(-50'000));
  EXPECT_THAT(set.ranks[0].steps.duration_ns, ElementsAre(30'000));
  EXPECT_THAT(set.ranks[0].runtime_calls.begin_ns, ElementsAre(-50'000));
  EXPECT_THAT(set.ranks[0].activities.begin_ns, ElementsAre(0));
}

TEST_F(EnsembleTraceTest, AllCollectivesFindTheirCounterparts) {
  const trace::TraceSet set = EnsembleTrace(rank_classes_, simulated_, {.gpu = "H100"});

  const trace::MatchedCollectives matched = trace::MatchCollectives(set);

  EXPECT_EQ(matched.size(), 12U);  // 4 sums, 4 messages, 4 reductions
  for (std::size_t i = 0; i < matched.size(); ++i) {
    EXPECT_FALSE(matched.Has(i, trace::match_flag::kUnreliable | trace::match_flag::kIncomplete));
    EXPECT_EQ(matched.instances.num_members[i], 2U);
  }
}

TEST_F(EnsembleTraceTest, MetricsOfTheTraceAreThoseOfTheTimeline) {
  trace::TraceSet set = EnsembleTrace(rank_classes_, simulated_, {.gpu = "H100"});

  EXPECT_DOUBLE_EQ(Measured(set, "iteration_wall_clock_time"), 390e-6);
  // Stage 0: 90 µs of transfers; stage 1: 90 µs, and 150 µs in which its receive waits,
  // which we call a bubble.
  EXPECT_DOUBLE_EQ(MeanExposedSeconds(), 90e-6);
  EXPECT_DOUBLE_EQ(Measured(set, "exposed_comm_time"), MeanExposedSeconds() + 150e-6 / 2);
  // Of 390 µs stage 0 has nothing to do in the last 200, stage 1 in the first 150.
  EXPECT_NEAR(Measured(set, "bubble_size_pipeline"), 100.0 * (200 + 150) / 2 / 390, 1e-9);
}

// Above the limit classes stand for their ranks: 0 and 4, which communication messages.
TEST_F(EnsembleTraceTest, ManyRanksAreShownByTheirClasses) {
  trace::TraceSet set = EnsembleTrace(rank_classes_, simulated_, {.gpu = "H100", .most_ranks = 4});

  ASSERT_EQ(set.ranks.size(), 2U);
  EXPECT_EQ(set.ranks[1].info.rank, 4);
  EXPECT_EQ(set.ranks[0].collectives.kind[1], CollectiveKind::kSend);
  EXPECT_EQ(set.ranks[0].collectives.peer[1], 4);
  EXPECT_DOUBLE_EQ(Measured(set, "iteration_wall_clock_time"), 390e-6);
  EXPECT_DOUBLE_EQ(Measured(set, "exposed_comm_time"), MeanExposedSeconds() + 150e-6 / 2);
  EXPECT_NEAR(Measured(set, "bubble_size_pipeline"), 100.0 * (200 + 150) / 2 / 390, 1e-9);
}

// Groups whose members are all of one class have one trace, in which they are whole: two sums and
// two reductions of two ranks beside the message, as fast as in the traces of all ranks.
TEST_F(EnsembleTraceTest, CollectivesOfFoldedRanksCountWithTheirGroups) {
  trace::TraceSet all = EnsembleTrace(rank_classes_, simulated_, {.gpu = "H100"});
  trace::TraceSet set = EnsembleTrace(rank_classes_, simulated_, {.gpu = "H100", .most_ranks = 4});
  EXPECT_FALSE(trace::HasFoldedRanks(all));
  ASSERT_TRUE(trace::HasFoldedRanks(set));

  const trace::MatchedCollectives matched = trace::MatchCollectives(set);

  EXPECT_EQ(matched.size(), 5U);
  for (const trace::RankMatching& rank : matched.ranks) {
    EXPECT_EQ(rank.num_unmatched, 0);
  }
  for (const std::string_view metric :
       {"busbw_allreduce", "busbw_sendrecv", "collective_vol_allreduce_gb", "coll_call_num"}) {
    EXPECT_DOUBLE_EQ(Measured(set, metric), Measured(all, metric)) << metric;
  }
  EXPECT_EQ(Measured(set, "comm_wait_fraction"), Measured(all, "comm_wait_fraction"));
}

// Without the word of a simulation, nothing is known of ranks that were not recorded.
TEST_F(EnsembleTraceTest, RanksThatWereNotRecordedStayUnknown) {
  trace::TraceSet set = EnsembleTrace(rank_classes_, simulated_, {.gpu = "H100", .most_ranks = 4});
  set.card.reset();
  EXPECT_EQ(trace::MatchCollectives(set).size(), 1U);  // the message
}

// A kernel of 1,000 µs beside communication of 300 µs, which waits 200 µs for room and takes twice
// as long: it is there from 200 to 800 µs. The kernel does 200 alone, 450 beside it and 350 alone.
TEST(HeldUpTraceTest, KernelsBeginWhenTheyHaveRoomAndSayHowLongTheyTakeAlone) {
  RankWriter rank({"dp"});
  rank.program.parts.Append({.sm_share = 1'000'000});
  rank.Kernel(1000 * kMicrosecond, 0);
  rank.Talk(0, 300 * kMicrosecond);
  Ensemble ensemble;
  ensemble.num_roles = 1;
  ensemble.programs.push_back(std::move(rank.program));
  AddRank(ensemble, 0);
  Join(ensemble, 0, {0});
  const FixedModel model({4.0 / 3, 2}, 200);
  const ModelledOverlap overlap = OverlapBy(model);
  PlainTimes times;
  const RankClasses rank_classes = Unfolded(ensemble, IslandLinkClass(8));
  const Timeline simulated = *Simulate(rank_classes, times, {.rates = &overlap});

  const trace::TraceSet set = EnsembleTrace(rank_classes, simulated, {.gpu = "H100"});

  const trace::Trace& trace = set.ranks.front();
  EXPECT_THAT(trace.activities.begin_ns, ElementsAre(0, 200'000));
  EXPECT_THAT(trace.activities.duration_ns, ElementsAre(1'150'000, 600'000));
  EXPECT_EQ(trace.Text(trace.activities.extra[0]), "\"alone_us\": 1000.000");
  EXPECT_EQ(trace.Text(trace.activities.extra[1]),
            "\"alone_us\": 300.000, \"delayed_us\": 200.000");
}

}  // namespace
}  // namespace orrery::simulate
