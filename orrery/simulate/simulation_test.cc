#include "orrery/simulate/simulation.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/equal_stages_test.h"
#include "orrery/simulate/engine/pair_models_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// Properties of whole jobs: what must hold whatever the model, the plan and the schedule.

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::PipelineSchedule;
using workload::Plan;
using workload::Program;
using workload::TaskId;
using workload::Transformer;

struct NamedPlan {
  std::string name;
  Plan plan;
  bool is_sparse = false;  // the model has experts
};

NamedPlan Piped(const std::string& name, PipelineSchedule schedule, int chunks = 1) {
  NamedPlan named{name, {}};
  named.plan.pp = 4;
  named.plan.schedule = schedule;
  named.plan.chunks = chunks;
  return named;
}

/// Every schedule and every kind of parallelism, at most 64 ranks each.
std::vector<NamedPlan> Plans() {
  std::vector<NamedPlan> plans = {
      Piped("gpipe", PipelineSchedule::kGpipe),
      Piped("1f1b", PipelineSchedule::k1f1b),
      Piped("interleaved", PipelineSchedule::kInterleaved, 2),
      Piped("zero bubble h1", PipelineSchedule::kZeroBubbleH1),
      Piped("zero bubble v", PipelineSchedule::kZeroBubbleV),
      Piped("dualpipe", PipelineSchedule::kDualPipe),
  };
  const auto add = [&plans](const std::string& name, auto change) {
    NamedPlan named{name, {}};
    change(named);
    plans.push_back(named);
  };
  add("tp", [](NamedPlan& of) { of.plan.tp = 4; });
  add("sp and pp and dp", [](NamedPlan& of) {
    of.plan.tp = 4;
    of.plan.sequence_parallel = true;
    of.plan.pp = 2;
    of.plan.dp = 8;
    of.plan.sharding = workload::Sharding::kOptimizer;
  });
  add("ring", [](NamedPlan& of) {
    of.plan.cp = 4;
    of.plan.dp = 2;
  });
  add("ulysses", [](NamedPlan& of) {
    of.plan.cp = 4;
    of.plan.context = workload::ContextKind::kUlysses;
  });
  add("ddp", [](NamedPlan& of) { of.plan.dp = 16; });
  add("fsdp", [](NamedPlan& of) {
    of.plan.dp = 16;
    of.plan.sharding = workload::Sharding::kParameters;
    of.plan.recompute = workload::Recompute::kFull;
  });
  add("hsdp", [](NamedPlan& of) {
    of.plan.dp = 16;
    of.plan.sharding = workload::Sharding::kParameters;
    of.plan.shard_ranks = 8;
  });
  add("experts", [](NamedPlan& of) {
    of.plan.dp = 8;
    of.plan.ep = 4;
    of.plan.pp = 2;
    of.is_sparse = true;
  });
  NamedPlan dual = Piped("dualpipe with experts", PipelineSchedule::kDualPipe);
  dual.plan.dp = 4;
  dual.plan.ep = 4;
  dual.is_sparse = true;
  plans.push_back(dual);
  return plans;
}

Job JobOf(const NamedPlan& named) {
  Transformer model =
      workload::Gpt({.hidden = 1024, .layers = 8, .heads = 16, .vocabulary = 51200});
  model.is_tied = false;
  if (named.is_sparse) {
    model.blocks[0].block.mlp =
        workload::Experts{.count = 8, .per_token = 2, .expert = {.width = 2048}};
  }
  Job job = workload::JobOf(
      {.model = {named.name, model}, .plan = named.plan, .microbatches = named.plan.pp * 2 + 8});
  job.framework.launch_us = 1;
  job.framework.data_overlap = workload::DataOverlap::kBuckets;
  return job;
}

std::int64_t StepPs(const workload::Ensemble& ensemble, CommunicationTimes& times) {
  const auto simulated = Simulate(Fold(ensemble, IslandLinkClass(8)), times);
  EXPECT_TRUE(simulated.has_value()) << (simulated ? "" : simulated.error().message());
  return simulated ? simulated->EndPs() : -1;
}

workload::GeneratedJob Generated(const Job& job) {
  return workload::Generate(job, workload::EqualCosts()).value();
}

// Times of a simulation without a rate model are the least solution of equations with maxima and
// sums.
TEST(SimulationTest, ShrinkingADurationNeverLengthensTheStep) {
  PlainTimes times;
  for (const NamedPlan& named : Plans()) {
    workload::GeneratedJob generated = Generated(JobOf(named));
    std::int64_t step = StepPs(generated.ensemble, times);
    // Every 97th task of every program, each to a third, one after the other.
    for (Program& program : generated.ensemble.programs) {
      for (TaskId task = 11; task < program.tasks.size(); task += 97) {
        program.tasks.duration_ps[task] /= 3;
      }
      const std::int64_t shorter = StepPs(generated.ensemble, times);
      EXPECT_LE(shorter, step) << named.name;
      step = shorter;
    }
  }
}

TEST(SimulationTest, WithoutCommunicationComputeAndBubbleAreLeft) {
  FreeTimes free;
  for (const NamedPlan& named : Plans()) {
    Job job = JobOf(named);
    job.framework.launch_us = 0;
    const workload::GeneratedJob generated = Generated(job);
    const RankClasses rank_classes = Fold(generated.ensemble, IslandLinkClass(8));
    const Timeline timeline = Simulate(rank_classes, free).value();
    for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
      const Breakdown breakdown = BreakdownOf(rank_classes, timeline, rank_class);
      EXPECT_EQ(breakdown.TotalPs(TimeKind::kTransfer), 0) << named.name;
      EXPECT_EQ(breakdown.TotalPs(TimeKind::kHost), 0) << named.name;
      EXPECT_EQ(breakdown.TotalPs(TimeKind::kCompute) + breakdown.TotalPs(TimeKind::kOptimizer) +
                    breakdown.TotalPs(TimeKind::kBubble) + breakdown.TotalPs(TimeKind::kWait),
                breakdown.step_ps)
          << named.name;
      if (named.plan.pp == 1) {
        EXPECT_EQ(breakdown.TotalPs(TimeKind::kWait), 0) << named.name;
      }
    }
  }
}

TEST(SimulationTest, TheBreakdownSumsToTheStep) {
  const workload::EqualCosts costs;
  for (const NamedPlan& named : Plans()) {
    const auto simulation = Simulate(JobOf(named), costs);
    ASSERT_TRUE(simulation.has_value()) << named.name << ": " << simulation.error().message();
    const Breakdown breakdown = BreakdownOf(simulation->rank_classes, simulation->timeline, 0);
    std::int64_t sum = 0;
    for (const TimeShare& share : breakdown.shares) {
      sum += share.ps;
    }
    EXPECT_EQ(sum, simulation->step_ps()) << named.name;
    EXPECT_GT(breakdown.TotalPs(TimeKind::kCompute), 0) << named.name;
  }
}

TEST(SimulationTest, FoldedAndUnfoldedRanksEndTogether) {
  const workload::EqualCosts costs;
  for (const NamedPlan& named : Plans()) {
    for (const auto overlap : {OverlapKind::kNone, OverlapKind::kAnalytic, OverlapKind::kModel}) {
      const Job job = JobOf(named);
      ASSERT_LE(job.gpus, 64);
      const auto folded = Simulate(job, costs, {.overlap = overlap}).value();
      const auto whole = Simulate(job, costs, {.folds = false, .overlap = overlap}).value();
      EXPECT_EQ(folded.step_ps(), whole.step_ps()) << named.name;
      for (workload::Rank rank = 0; rank < static_cast<workload::Rank>(job.gpus); ++rank) {
        EXPECT_EQ(folded.timeline.EndOf(folded.rank_classes.class_of_rank[rank]),
                  whole.timeline.EndOf(whole.rank_classes.class_of_rank[rank]))
            << named.name << " rank " << rank;
      }
    }
  }
}

TEST(SimulationTest, ResultsDoNotDependOnThreads) {
  const workload::EqualCosts costs;
  const std::vector<NamedPlan> plans = Plans();
  const auto run = [&](int threads) {
    std::vector<std::int64_t> steps(plans.size());
    ParallelFor(plans.size(), threads, [&](std::size_t i) {
      steps[i] = Simulate(JobOf(plans[i]), costs).value().step_ps();
    });
    return steps;
  };
  EXPECT_EQ(run(1), run(3));
}

// TV1, t_F = t_B = t_W = 10 of a device: work 30·m; GPipe and 1F1B add (p − 1)·30, interleaved that
// over v, ZB-H1 (p − 1)·10. With v chunks the work of a device is v times as much here.
TEST(SimulationTest, BubblesOfEqualStagesMatchTheirFormulas) {
  FreeTimes free;
  const auto step = [&](PipelineSchedule schedule, int stages, int chunks, int microbatches) {
    return StepPs(EqualStages({schedule, stages, chunks, microbatches}), free);
  };
  EXPECT_EQ(step(PipelineSchedule::kGpipe, 4, 1, 8), 330);
  EXPECT_EQ(step(PipelineSchedule::k1f1b, 4, 1, 8), 330);
  EXPECT_EQ(step(PipelineSchedule::k1f1b, 8, 1, 16), 690);
  EXPECT_EQ(step(PipelineSchedule::kZeroBubbleH1, 4, 1, 8), 270);
  EXPECT_EQ(step(PipelineSchedule::kZeroBubbleH1, 8, 1, 16), 550);
  EXPECT_EQ(step(PipelineSchedule::kInterleaved, 4, 2, 8), 2 * 285);
  EXPECT_EQ(step(PipelineSchedule::kInterleaved, 4, 4, 8), 4 * 525 / 2);
  EXPECT_EQ(step(PipelineSchedule::kInterleaved, 8, 3, 16), 3 * 550);
}

// Communications of tokens hide behind the passes of other micro-batches where a framework runs
// them side by side: the same work takes less time, and no less than computing alone.
TEST(SimulationTest, PassesSideBySideHideTheDispatchOfTokens) {
  PlainTimes times;
  FreeTimes free;
  NamedPlan named{"experts", {}};
  named.plan.dp = 4;
  named.plan.ep = 4;
  named.is_sparse = true;
  Job job = JobOf(named);
  job.framework.launch_us = 0;
  const std::int64_t exposed = StepPs(Generated(job).ensemble, times);
  job.framework.overlaps_experts = true;
  const workload::GeneratedJob together = Generated(job);
  const std::int64_t hidden = StepPs(together.ensemble, times);
  EXPECT_LT(hidden, exposed);
  EXPECT_GT(hidden, StepPs(together.ensemble, free));
}

// One slow rank slows its pipeline down, by as much as its kernels at most.
TEST(SimulationTest, ASlowRankLengthensTheStep) {
  const workload::EqualCosts costs;
  const Job job = JobOf(Piped("1f1b", PipelineSchedule::k1f1b));
  const std::int64_t step = Simulate(job, costs).value().step_ps();
  const std::int64_t slow =
      Simulate(job, costs, {.slow_ranks = {{.rank = 2, .factor = 1.5}}}).value().step_ps();
  EXPECT_GT(slow, step);
  EXPECT_LT(slow, step * 3 / 2);
}

TEST(SimulationTest, TheModelOfOverlapIsToldWhoGoesFirst) {
  Job job = JobOf(Plans().front());
  job.framework.data_overlap = workload::DataOverlap::kBuckets;
  const FixedModel model({1.5, 1});
  for (const bool is_first : {false, true}) {
    job.framework.prioritises_communication = is_first;
    ASSERT_TRUE(Simulate(job, workload::EqualCosts(),
                         {.overlap = OverlapKind::kModel, .overlap_model = &model}));
    ASSERT_GT(model.num_pairs, 0U);
    EXPECT_EQ(model.last.communication.priority,
              is_first ? overlap::Priority::kCommunication : overlap::Priority::kSame);
  }
}

}  // namespace
}  // namespace orrery::simulate
