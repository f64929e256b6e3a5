#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::Plan;
using workload::Recompute;

/// A step of a job whose operators all take a microsecond.
struct SimulatedJob {
  workload::GeneratedJob generated;
  RankClasses rank_classes;
  Timeline timeline;
};

SimulatedJob SimulateJob(const Job& job) {
  SimulatedJob simulated{workload::Generate(job, workload::EqualCosts()).value(), {}, {}};
  simulated.rank_classes = Fold(simulated.generated.ensemble, IslandLinkClass(8));
  PlainTimes times;
  simulated.timeline = Simulate(simulated.rank_classes, times).value();
  return simulated;
}

/// The most that a rank class has of each category at once.
std::map<std::string, std::int64_t> MostOf(const SimulatedJob& simulated, RankClassId rank_class) {
  const workload::Program& program = simulated.rank_classes.ProgramOf(rank_class);
  std::map<std::string, std::int64_t> now;
  std::map<std::string, std::int64_t> most;
  for (const MemoryStep& step :
       MemorySteps(program, simulated.timeline, simulated.timeline.First(rank_class))) {
    const std::string name(program.strings.View(step.category));
    now[name] += step.bytes;
    most[name] = std::max(most[name], now[name]);
  }
  for (const auto& [name, bytes] : now) {
    EXPECT_EQ(bytes, 0) << name << " is not given back";
  }
  return most;
}

std::int64_t HundredthsOfGibibytes(std::int64_t bytes) {
  return std::llround(static_cast<double>(bytes) * 100 / (1 << 30));
}

/// One of Korthikanti's models: materialised attention, dropout, t = 8.
struct Published {
  std::int64_t hidden, heads, layers;
  int stages, chunks;
  std::int64_t micro_batch;
};

Job JobOf(const Published& published, bool sequence_parallel, Recompute recompute) {
  workload::Transformer model = workload::Gpt({.hidden = published.hidden,
                                               .layers = published.layers,
                                               .heads = published.heads,
                                               .vocabulary = 51200});
  model.dropout = 0.1;
  model.attention_dropout = 0.1;
  Plan plan;
  plan.tp = 8;
  plan.pp = published.stages;
  plan.chunks = published.chunks;
  plan.schedule = published.chunks > 1 ? workload::PipelineSchedule::kInterleaved
                                       : workload::PipelineSchedule::k1f1b;
  plan.sequence_parallel = sequence_parallel;
  plan.recompute = recompute;
  Job job = workload::JobOf(
      {.model = {"published", model},
       .plan = plan,
       .sequence = 2048,
       .micro_batch = published.micro_batch,
       .microbatches = std::int64_t{published.chunks > 1 ? 2 : 1} * published.stages});
  job.framework.attention = workload::AttentionKernel::kMaterialised;
  return job;
}

std::int64_t FirstStage(const Published& published, bool sequence_parallel, Recompute recompute) {
  const SimulatedJob simulated = SimulateJob(JobOf(published, sequence_parallel, recompute));
  return HundredthsOfGibibytes(MostOf(simulated, 0)["activations"]);
}

// The table of Korthikanti et al. in hundredths of GiB, this time from what the programs of whole
// jobs take and give back: TP; TP + SP; each with selective recomputation; full recomputation.
TEST(MemoryAnswerTest, GeneratedJobsHoldKorthikantisPublishedGibibytes) {
  struct Row {
    Published model;
    std::int64_t tensor, sequence, tensor_selective, sequence_selective, full;
  };

  for (const Row& row : {Row{{6144, 64, 48, 1, 1, 4}, 5925, 3956, 2925, 956, 450},
                         Row{{12288, 96, 96, 8, 3, 1}, 6684, 4141, 3778, 1235, 581},
                         Row{{20480, 128, 105, 35, 3, 1}, 11402, 6651, 7059, 2308, 1086},
                         Row{{25600, 160, 128, 64, 1, 1}, 13125, 7656, 8125, 2656, 1250}}) {
    EXPECT_EQ(FirstStage(row.model, false, Recompute::kNothing), row.tensor);
    EXPECT_EQ(FirstStage(row.model, true, Recompute::kNothing), row.sequence);
    EXPECT_EQ(FirstStage(row.model, false, Recompute::kSelective), row.tensor_selective);
    EXPECT_EQ(FirstStage(row.model, true, Recompute::kSelective), row.sequence_selective);
    EXPECT_EQ(FirstStage(row.model, false, Recompute::kFull), row.full);
  }
}

Job LlamaOn(const Plan& plan, std::int64_t microbatches) {
  return workload::JobOf({.model = {"llama", workload::Llama3()},
                          .plan = plan,
                          .sequence = 8192,
                          .microbatches = microbatches});
}

// 8.03 B parameters with 18 bytes each are more than an H100 has; shards among 64 are not.
TEST(MemoryAnswerTest, AStepThatDoesNotFitSaysSoAndOfWhat) {
  Plan plan;
  plan.dp = 64;
  const Job job = LlamaOn(plan, 1);
  const SimulatedJob whole = SimulateJob(job);
  const MemoryAnswer full = MemoryAnswerOf(whole.rank_classes, whole.timeline, job);
  EXPECT_FALSE(full.fits());
  ASSERT_EQ(full.stages.size(), 1U);
  EXPECT_EQ(full.stages[0].parts[0].category, "optimizer states");
  plan.sharding = workload::Sharding::kParameters;
  const SimulatedJob sharded = SimulateJob(LlamaOn(plan, 1));
  const MemoryAnswer answer = MemoryAnswerOf(sharded.rank_classes, sharded.timeline, job);
  EXPECT_TRUE(answer.fits());
  EXPECT_EQ(answer.stages[0].parts[0].category, "activations");
  EXPECT_GT(answer.stages[0].needed_bytes, answer.stages[0].peak_bytes);
  EXPECT_LE(answer.stages[0].peak_bytes, answer.stages[0].usable_bytes);
}

// While a block computes, the parameters of the next are on their way: two units of 218,112,000
// parameters of 2 bytes. The embedding and the head are larger: 128,256 · 4096 each.
TEST(MemoryAnswerTest, GatheredUnitsAreAtMostTwo) {
  Plan plan;
  plan.dp = 8;
  plan.sharding = workload::Sharding::kParameters;
  const std::int64_t block = 218'112'000;
  const std::int64_t end = 128'256LL * 4096;
  const auto most = MostOf(SimulateJob(LlamaOn(plan, 2)), 0);
  EXPECT_EQ(most.at("gathered parameters"), 2 * (block + end + 4096));
}

// The first stage of 1F1B holds p micro-batches, stage i p − i of them.
TEST(MemoryAnswerTest, StagesOfOneForwardOneBackwardHoldFewerAndFewer) {
  Plan plan;
  plan.pp = 4;
  const SimulatedJob simulated = SimulateJob(LlamaOn(plan, 8));
  const std::int64_t last = MostOf(simulated, 3)["activations"];
  for (RankClassId stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(MostOf(simulated, stage)["activations"], (4 - stage) * last);
  }
}

// Zero bubble: gradients of weights come later and need the inputs and the gradients of the outputs
// of products, 32sbh bytes of 34sbh + 5as²b of a GPT block (Qi et al.); the first stage of ZB-H1
// holds as many micro-batches as that of 1F1B, and more after the pass without weights.
TEST(MemoryAnswerTest, PutOffGradientsKeepWhatTheyNeed) {
  const auto job_of = [](workload::PipelineSchedule schedule) {
    workload::Transformer model =
        workload::Gpt({.hidden = 1024, .layers = 4, .heads = 16, .vocabulary = 51200});
    Plan plan;
    plan.pp = 4;
    plan.schedule = schedule;
    return workload::JobOf({.model = {"gpt", model}, .plan = plan, .microbatches = 8});
  };
  const std::int64_t tokens = 1024;
  const auto whole = MostOf(SimulateJob(job_of(workload::PipelineSchedule::k1f1b)), 3);
  const auto later = MostOf(SimulateJob(job_of(workload::PipelineSchedule::kZeroBubbleH1)), 3);
  EXPECT_EQ((later.at("activations") - whole.at("activations")) % (32 * tokens * 1024), 0);
  EXPECT_GT(later.at("activations"), whole.at("activations"));
}

}  // namespace
}  // namespace orrery::simulate
