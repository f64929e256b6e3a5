#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// Sharding trades communication for memory, whatever the model, the pipeline and the framework.

namespace orrery::simulate {
namespace {

using workload::Framework;
using workload::GroupRole;
using workload::Job;
using workload::PipelineSchedule;
using workload::Plan;
using workload::Program;
using workload::Reshard;
using workload::Sharding;
using workload::Transformer;

/// Of each stage of a pipeline.
struct Cost {
  std::vector<std::int64_t> memory_bytes;
  std::vector<std::int64_t> optimizer_bytes;
  std::vector<std::int64_t> data_bytes;  // that a rank sends, about: an all-reduce counts twice
};

std::int64_t DataBytesOf(const Program& program) {
  std::int64_t bytes = 0;
  for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
    if (const workload::CommunicationId id = program.tasks.communication[task];
        id != workload::kNone) {
      const workload::Communications::Row row = program.communications.At(id);
      const bool is_of_data = program.roles.dimension[row.role] ==
                              program.roles.dimension[static_cast<std::size_t>(GroupRole::kData)];
      bytes += is_of_data ? row.bytes * (row.kind == CollectiveKind::kAllReduce ? 2 : 1) : 0;
    }
  }
  return bytes;
}

std::int64_t OptimizerBytesOf(const Program& program) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < program.held_memory.size(); ++i) {
    const bool is_optimizer =
        program.strings.View(program.held_memory.category[i]) == "optimizer states";
    bytes += is_optimizer ? program.held_memory.bytes[i] : 0;
  }
  return bytes;
}

Cost CostOf(const Job& job) {
  const workload::GeneratedJob generated = workload::Generate(job, workload::EqualCosts()).value();
  const RankClasses rank_classes = Fold(generated.ensemble, IslandLinkClass(8));
  PlainTimes times;
  const Timeline timeline = Simulate(rank_classes, times).value();
  Cost cost;
  for (const StageMemory& stage : MemoryAnswerOf(rank_classes, timeline, job).stages) {
    cost.memory_bytes.push_back(stage.peak_bytes);
  }
  for (const Program& program : generated.ensemble.programs) {
    cost.optimizer_bytes.push_back(OptimizerBytesOf(program));
    cost.data_bytes.push_back(DataBytesOf(program));
  }
  return cost;
}

Transformer Dense() {
  Transformer model = workload::Llama3();
  model.blocks[0].count = 32;
  return model;
}

Transformer Sparse() {
  Transformer model = Dense();
  model.blocks[0].block.mlp = workload::Experts{
      .count = 8, .per_token = 2, .expert = workload::GatedSilu(4096), .shared = {}};
  return model;
}

/// A pipeline, its micro-batches, and experts where the plan has ranks for them.
struct Shape {
  Plan plan;
  std::int64_t microbatches = 1;
};

// Stages of eight layers or more: below a handful of them the units in flight are all that there
// is, and nothing can be saved.
std::vector<Shape> Shapes() {
  return {{{.dp = 8}, 1},
          {{.dp = 8}, 4},
          {{.dp = 8, .ep = 4}, 2},
          {{.tp = 2, .dp = 4, .sequence_parallel = true}, 2},
          {{.pp = 2, .dp = 4}, 2},
          {{.pp = 4, .dp = 8}, 8},
          {{.pp = 2, .dp = 8, .ep = 2, .schedule = PipelineSchedule::kInterleaved, .chunks = 2}, 4},
          {{.pp = 4, .dp = 4, .schedule = PipelineSchedule::kInterleaved, .chunks = 4}, 8},
          {{.pp = 2, .dp = 4, .schedule = PipelineSchedule::kZeroBubbleH1}, 4},
          {{.pp = 2, .dp = 4, .schedule = PipelineSchedule::kDualPipe}, 4}};
}

Job JobOf(const Transformer& model, const Shape& shape, const Framework& framework) {
  Job job = workload::JobOf({.model = {"model", model},
                             .plan = shape.plan,
                             .sequence = 4096,
                             .microbatches = shape.microbatches});
  job.framework = framework;
  return job;
}

std::string Described(const Job& job) {
  return fmt::format("{}: pp {} {} chunks {}, tp {} dp {} ep {}, {} micro-batches",
                     job.framework.name, job.plan.pp, workload::ScheduleName(job.plan.schedule),
                     job.plan.chunks, job.plan.tp, job.plan.dp, job.plan.ep, job.microbatches());
}

// ZeRO-1 needs at least the memory of ZeRO-2, and that one at least that of ZeRO-3, which drops
// parameters behind each pass; what they send is the other way round. Buckets of ZeRO-1 are padded
// for its shards, units are not: up to a thousandth.
TEST(PlanMemoryProperty, EachStageOfZeroSavesMemoryForCommunication) {
  for (const Transformer& model : {Dense(), Sparse()}) {
    const bool has_experts = model.blocks[0].block.experts() != nullptr;
    for (const Framework& framework : workload::Frameworks()) {
      for (const Shape& shape : Shapes()) {
        if (shape.plan.ep > 1 && !has_experts) {
          continue;
        }
        Job job = JobOf(model, shape, framework);
        std::vector<Cost> costs;
        for (const Sharding sharding :
             {Sharding::kOptimizer, Sharding::kGradients, Sharding::kParameters}) {
          job.plan.sharding = sharding;
          costs.push_back(CostOf(job));
        }
        for (std::size_t i = 0; i + 1 < costs.size(); ++i) {
          for (std::size_t stage = 0; stage < costs[i].memory_bytes.size(); ++stage) {
            EXPECT_GE(costs[i].memory_bytes[stage], costs[i + 1].memory_bytes[stage])
                << Described(job) << ", ZeRO-" << i + 1 << ", stage " << stage;
            EXPECT_LE(costs[i].data_bytes[stage], costs[i + 1].data_bytes[stage] * 1001 / 1000)
                << Described(job) << ", ZeRO-" << i + 1 << ", stage " << stage;
          }
        }
      }
    }
  }
}

// Parameters that stay gathered along a pipeline take the memory of ZeRO-1, and send its bytes:
// each is gathered once a step and each gradient reduced once. Only the units in flight differ.
TEST(PlanMemoryTest, PipelinesThatNeverReshardAreLikeZero1) {
  const Framework torch = *workload::FindFramework("torch-fsdp");
  Job job = JobOf(Dense(), {{.pp = 4, .dp = 8}, 8}, torch);
  job.plan.sharding = Sharding::kOptimizer;
  const Cost zero1 = CostOf(job);
  job.plan.sharding = Sharding::kParameters;
  job.plan.reshard = Reshard::kAlways;
  const Cost always = CostOf(job);
  job.plan.reshard = torch.reshard;
  EXPECT_EQ(job.plan.reshard, Reshard::kDefault);
  const Cost usual = CostOf(job);
  job.plan.reshard = Reshard::kNever;
  EXPECT_EQ(CostOf(job).memory_bytes, usual.memory_bytes);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const auto share = [&](const std::vector<std::int64_t>& of,
                           const std::vector<std::int64_t>& to) {
      return static_cast<double>(of[stage]) / static_cast<double>(to[stage]);
    };
    EXPECT_NEAR(share(usual.memory_bytes, zero1.memory_bytes), 1, 0.001);
    EXPECT_NEAR(share(usual.data_bytes, zero1.data_bytes), 1, 0.001);
    EXPECT_LT(share(always.memory_bytes, usual.memory_bytes), 0.95);  // with equal activations
    EXPECT_GT(share(always.data_bytes, usual.data_bytes), 6);  // eight times, but for the last unit
  }
}

// Two copies of every layer, whose states are sharded over twice the ranks: all ranks together have
// the optimizer states of 1F1B.
TEST(PlanMemoryTest, CopiesOfDualPipeShareTheirOptimizerStates) {
  for (const Sharding sharding : {Sharding::kOptimizer, Sharding::kGradients}) {
    std::vector<std::int64_t> sums;
    for (const PipelineSchedule schedule : {PipelineSchedule::k1f1b, PipelineSchedule::kDualPipe}) {
      const Plan plan{.pp = 4, .dp = 2, .schedule = schedule, .sharding = sharding};
      const Cost cost = CostOf(JobOf(Dense(), {plan, 8}, workload::UnknownFramework()));
      sums.push_back(0);
      for (const std::int64_t bytes : cost.optimizer_bytes) {
        sums.back() += bytes;
      }
    }
    EXPECT_EQ(sums[0], sums[1]);
  }
}

}  // namespace
}  // namespace orrery::simulate
