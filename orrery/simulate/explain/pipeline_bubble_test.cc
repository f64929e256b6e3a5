#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/equal_stages_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// The bubble is all time of a stage without work because of the pipeline: fill, pauses between
// passes and drain, also where the drain is waited in the grad-norm all-reduce.

namespace orrery::simulate {
namespace {

using workload::PipelineSchedule;
using workload::PipelineShape;

constexpr std::int64_t kUpdatePs = 70;

struct Bubbles {
  std::int64_t step_ps = 0;
  std::int64_t mean_ps = 0;
  std::int64_t slowest_ps = 0;
  std::int64_t waiting_ps = 0;  // for other reasons
};

Bubbles BubblesOf(const workload::Ensemble& ensemble, CommunicationTimes& times) {
  const RankClasses rank_classes = Fold(ensemble, IslandLinkClass(8));
  const Timeline timeline = LastStep(*Simulate(rank_classes, times, {.repetitions = 2}));
  const StepSummary summary = Summarize({&rank_classes, &timeline, nullptr});
  return {.step_ps = summary.step_ps,
          .mean_ps = MeansOf(rank_classes, timeline).bubble_ps,
          .slowest_ps = summary.breakdown.TotalPs(TimeKind::kBubble),
          .waiting_ps = summary.breakdown.TotalPs(TimeKind::kWait)};
}

struct Formula {
  PipelineSchedule schedule;
  int chunks;
  PassTimes times;
  /// Of p stages whose devices take F, B and W for a micro-batch: all chunks together.
  double (*bubble_ps)(double p, double forward, double inputs, double weights);
};

// p stages, F, B and W of a device for a micro-batch; the optimizer ends the step of all stages
// together, so that no step begins before all have ended the one before.
//
// GPipe, 1F1B: (p − 1)(F + B + W). Interleaved: over v, since a pipeline is filled when a chunk,
// not a device, has gone through all stages. ZB-H1: (p − 1)(F + B − W), weight gradients fill the
// rest (Qi et al., 2024).
//
// ZB-2p and ZB-V leave no pause on a device for F = B = W. Their papers let a stage begin its next
// step while others still work. With a sum over all stages between steps, a device still waits for
// its first micro-batch or after its last pass: the last of p stages begins after (p − 1)·F, and
// with two chunks in a V, of F / 2 each, after (p − 1)·F / 2.
const std::vector<Formula>& Formulas() {
  static const std::vector<Formula> formulas = {
      {PipelineSchedule::kGpipe,
       1,
       {10, 12, 8, kUpdatePs},
       [](double p, double f, double b, double w) { return (p - 1) * (f + b + w); }},
      {PipelineSchedule::k1f1b,
       1,
       {10, 12, 8, kUpdatePs},
       [](double p, double f, double b, double w) { return (p - 1) * (f + b + w); }},
      {PipelineSchedule::kInterleaved,
       2,
       {10, 12, 8, kUpdatePs},
       [](double p, double f, double b, double w) { return (p - 1) * (f + b + w) / 2; }},
      {PipelineSchedule::kInterleaved,
       4,
       {10, 12, 8, kUpdatePs},
       [](double p, double f, double b, double w) { return (p - 1) * (f + b + w) / 4; }},
      {PipelineSchedule::kZeroBubbleH1,
       1,
       {10, 10, 10, kUpdatePs},
       [](double p, double f, double b, double w) { return (p - 1) * (f + b - w); }},
      {PipelineSchedule::kZeroBubbleH1,
       1,
       {10, 12, 8, kUpdatePs},
       [](double p, double f, double b, double w) { return (p - 1) * (f + b - w); }},
      {PipelineSchedule::kZeroBubble2p,
       1,
       {10, 10, 10, kUpdatePs},
       [](double p, double f, double, double) { return (p - 1) * f; }},
      {PipelineSchedule::kZeroBubbleV,
       2,
       {10, 10, 10, kUpdatePs},
       [](double p, double f, double, double) { return (p - 1) * f / 2; }},
  };
  return formulas;
}

// The formula of ZB-V is that of a V that is filled: a device runs up to 2 p − 1 forward passes
// before its first backward pass. With fewer micro-batches all that is not work is bubble.
bool IsFilled(const Formula& formula, int stages, int microbatches) {
  return formula.schedule != PipelineSchedule::kZeroBubbleV || microbatches >= 2 * stages - 1;
}

void ExpectFormula(const Formula& formula, int stages, int microbatches) {
  const PipelineShape shape{formula.schedule, stages, formula.chunks, microbatches};
  FreeTimes free;
  const Bubbles bubbles = BubblesOf(EqualStages(shape, formula.times), free);
  const double chunks = formula.chunks;
  const double forward_ps = chunks * static_cast<double>(formula.times.forward_ps);
  const double inputs_ps = chunks * static_cast<double>(formula.times.inputs_ps);
  const double weights_ps = chunks * static_cast<double>(formula.times.weights_ps);
  const auto step_ps = static_cast<double>(bubbles.step_ps);
  const double expected_ps =
      IsFilled(formula, stages, microbatches)
          ? formula.bubble_ps(stages, forward_ps, inputs_ps, weights_ps)
          : step_ps - microbatches * (forward_ps + inputs_ps + weights_ps) - kUpdatePs;
  const std::string what =
      fmt::format("{}, {} stages of {} chunks, {} micro-batches: step {} ps, expected {} ps",
                  workload::ScheduleName(formula.schedule), stages, formula.chunks, microbatches,
                  bubbles.step_ps, expected_ps);
  EXPECT_NEAR(static_cast<double>(bubbles.mean_ps) / step_ps, expected_ps / step_ps, 0.005) << what;
  EXPECT_NEAR(static_cast<double>(bubbles.slowest_ps) / step_ps, expected_ps / step_ps, 0.005)
      << what;
  EXPECT_EQ(bubbles.waiting_ps, 0) << what;
}

/// One formula a test, so that they run beside each other: long pipelines take seconds each.
class PublishedBubbleTest : public testing::TestWithParam<std::size_t> {};

// In each step all stages work equally long, so the bubble of each is that of the formula.
TEST_P(PublishedBubbleTest, EqualStagesHaveIt) {
  for (const int stages : {2, 3, 4, 6, 8, 16}) {
    for (const int passes : {1, 2, 8}) {
      ExpectFormula(Formulas()[GetParam()], stages, stages * passes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formulas, PublishedBubbleTest,
                         testing::Range(std::size_t{0}, Formulas().size()));

// All schedules but the interleaved one take any number of micro-batches.
TEST(PipelineBubbleTest, MicroBatchesNeedNotDivideByStages) {
  for (const Formula& formula : Formulas()) {
    if (formula.schedule == PipelineSchedule::kInterleaved) {
      continue;
    }
    for (const int stages : {2, 5, 7}) {
      for (const int more : {1, stages - 1, 2 * stages + 1}) {
        ExpectFormula(formula, stages, stages + more);
      }
    }
  }
}

/// Two stages of two micro-batches or so, written by hand: rank 0 sends a message of 5 ps after
/// each forward pass of 10 and rank 1 one after each backward pass of 20; then all sum a number
/// that takes 3 ps, after their own work behind the last pass.
class TwoStages {
 public:
  /// The work of each rank behind its last pass, and factors by which ranks are slow.
  workload::Ensemble Write(std::array<std::int64_t, 2> after_ps, double slowness = 1) const {
    workload::Ensemble ensemble;
    ensemble.num_roles = 3;
    ensemble.programs.push_back(First(after_ps[0]));
    ensemble.programs.push_back(Last(after_ps[1]));
    for (const double slow : {1.0, slowness}) {  // two replicas
      AddRank(ensemble, 0, slow);
      AddRank(ensemble, 1, slow);
    }
    for (const workload::Rank first : {0U, 2U}) {
      Join(ensemble, 0, {first, first + 1});
      Join(ensemble, 1, {first, first + 1});
    }
    Join(ensemble, 2, {0, 1, 2, 3});
    return ensemble;
  }

 private:
  static void End(RankWriter& rank, workload::TaskId last_pass, std::int64_t after_ps) {
    const workload::PartId reduce = rank.program.parts.Append(
        {.category = rank.program.strings.Intern("other"), .phase = workload::Phase::kReduce});
    const workload::TaskId work = rank.Kernel(after_ps, reduce);
    rank.After(last_pass, work);
    rank.After(work, rank.Talk(2, 3));
  }

  static workload::Program First(std::int64_t after_ps) {
    RankWriter rank({"pp forward", "pp backward", "all"});
    const workload::TaskId forward = rank.Kernel(10);
    const workload::TaskId out = rank.Message(0, 5);
    const workload::TaskId in = rank.Message(1, 5);
    const workload::TaskId backward = rank.Kernel(20);
    rank.After(forward, out);
    rank.After(in, backward);
    End(rank, backward, after_ps);
    return std::move(rank.program);
  }

  static workload::Program Last(std::int64_t after_ps) {
    RankWriter rank({"pp forward", "pp backward", "all"});
    const workload::TaskId in = rank.Message(0, 5);
    const workload::TaskId forward = rank.Kernel(10);
    const workload::TaskId backward = rank.Kernel(20);
    const workload::TaskId out = rank.Message(1, 5);
    rank.After(in, forward);
    rank.After(backward, out);
    End(rank, backward, after_ps);
    return std::move(rank.program);
  }
};

Breakdown BreakdownFor(const workload::Ensemble& ensemble, RankClassId rank) {
  const RankClasses rank_classes = Unfolded(ensemble, IslandLinkClass(8));
  PlainTimes times;
  return BreakdownOf(rank_classes, *Simulate(rank_classes, times), rank);
}

// Stage 0: forward 0–10, message 10–15, waits 15–45 for stage 1 (forward 15–25, backward 25–45),
// message 45–50, backward 50–70, work 70–77, sum 77–80. Stage 1 ends its last pass at 45 and its
// own work at 52, and waits from then until 77: its passes ended 25 before those of stage 0.
TEST(PipelineBubbleTest, TheDrainIsWaitedInTheSumOverAllStages) {
  const workload::Ensemble job = TwoStages().Write({7, 7});
  const Breakdown first = BreakdownFor(job, 0);
  EXPECT_EQ(first.step_ps, 80);
  EXPECT_EQ(first.TotalPs(TimeKind::kBubble), 30);
  EXPECT_EQ(first.TotalPs(TimeKind::kWait), 0);
  const Breakdown last = BreakdownFor(job, 1);
  EXPECT_EQ(last.TotalPs(TimeKind::kBubble), 10 + 25);
  EXPECT_EQ(last.TotalPs(TimeKind::kWait), 0);
  EXPECT_EQ(last.TotalPs(TimeKind::kTransfer), 5 + 3);  // the message runs beside the work
}

// Stage 0 has 17 of work behind its passes and stage 1 has 7: of the 35 that stage 1 waits from 52
// until 87, 10 are for that.
TEST(PipelineBubbleTest, WaitingForWorkBehindThePassesIsNoBubble) {
  const Breakdown last = BreakdownFor(TwoStages().Write({17, 7}), 1);
  EXPECT_EQ(last.TotalPs(TimeKind::kBubble), 10 + 25);
  EXPECT_EQ(last.TotalPs(TimeKind::kWait), 10);
}

// A replica that is twice as slow ends its last pass at 130 instead of 70 and its work at 144
// instead of 77. Of what the healthy stage 1 waits from 52 until 144, 25 are its own pipeline's.
TEST(PipelineBubbleTest, WaitingForAnotherPipelineIsNoBubble) {
  const workload::Ensemble job = TwoStages().Write({7, 7}, 2);
  const Breakdown healthy = BreakdownFor(job, 1);
  EXPECT_EQ(healthy.TotalPs(TimeKind::kBubble), 10 + 25);
  EXPECT_EQ(healthy.TotalPs(TimeKind::kWait), 144 - 52 - 25);
}

}  // namespace
}  // namespace orrery::simulate
