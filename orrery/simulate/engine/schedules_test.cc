#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

// No generated schedule deadlocks.

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::Model;
using workload::PipelineSchedule;
using workload::Plan;
using workload::Sharding;
using workload::Transformer;

constexpr std::array kSchedules{PipelineSchedule::kGpipe,        PipelineSchedule::k1f1b,
                                PipelineSchedule::kInterleaved,  PipelineSchedule::kZeroBubbleH1,
                                PipelineSchedule::kZeroBubble2p, PipelineSchedule::kZeroBubbleV,
                                PipelineSchedule::kDualPipe};
constexpr std::array kShardings{Sharding::kReplicated, Sharding::kOptimizer, Sharding::kGradients,
                                Sharding::kParameters, Sharding::kKeepGathered};

// Eight layers, so that they divide by up to four stages of two chunks.
std::vector<Model> Families() {
  Transformer tied = workload::Gpt({.hidden = 64, .layers = 8, .heads = 4, .vocabulary = 512});
  Transformer plain = tied;
  plain.is_tied = false;
  Transformer experts = plain;
  experts.blocks[0].block.mlp =
      workload::Experts{.count = 8, .per_token = 2, .expert = workload::GatedSilu(64)};
  Transformer latent = workload::DeepseekV3();
  latent.blocks[0].count = 1;
  latent.blocks[1].count = 7;
  Transformer encoder_decoder = workload::T5Small();
  encoder_decoder.blocks[0].count = 4;
  encoder_decoder.encoder[0].count = 4;
  Transformer images = workload::VitBase();
  images.blocks[0].count = 8;
  const workload::Dlrm recommendation = {
      .dense_features = 4,
      .bottom = {8, 4},
      .top = {8, 1},
      .tables = {{.rows = 100, .dim = 4}, {.rows = 9, .dim = 4}}};
  return {{"tied", tied},
          {"plain", plain},
          {"experts", experts},
          {"latent", latent},
          {"encoder and decoder", encoder_decoder},
          {"images", images},
          {"recommendation", recommendation},
          *workload::ModelOf(**workload::FindPreset("resnet50"), DataType::kBf16)};
}

struct Shape {
  int tp;
  int pp;
  int dp;
  int microbatches;
};

// Few and many micro-batches, odd numbers of both; DualPipe needs an even pp and twice as many
// micro-batches.
constexpr std::array kShapes{Shape{1, 2, 2, 4}, Shape{1, 4, 2, 8}, Shape{2, 2, 2, 5},
                             Shape{1, 4, 1, 2}, Shape{1, 1, 2, 3}, Shape{2, 4, 2, 10},
                             Shape{1, 2, 4, 6}};

Job JobOf(const Model& model, const Shape& shape, PipelineSchedule schedule, Sharding sharding) {
  const Transformer* const transformer = model.transformer();
  const bool has_experts =
      transformer != nullptr && transformer->blocks.back().block.experts() != nullptr;
  Plan plan;
  plan.tp = transformer == nullptr ? 1 : shape.tp;
  plan.pp = transformer == nullptr ? 1 : shape.pp;
  plan.dp = shape.dp;
  plan.ep = has_experts ? shape.dp : 1;
  plan.schedule = schedule;
  plan.chunks = schedule == PipelineSchedule::kInterleaved ? 2 : 1;
  plan.sharding = sharding;
  return workload::JobOf(
      {.model = model, .plan = plan, .sequence = 64, .microbatches = shape.microbatches});
}

std::string ErrorOf(const Job& job) {
  Result<workload::GeneratedJob> generated = workload::Generate(job, workload::EqualCosts());
  if (!generated) {
    return generated.error().message();
  }
  PlainTimes times;
  const RankClasses rank_classes = Fold(generated->ensemble, IslandLinkClass(8));
  const Result<Timeline> timeline = Simulate(rank_classes, times, {});
  return timeline ? "" : timeline.error().message();
}

std::string Described(const Job& job) {
  return fmt::format("{} with {}: pp {}, tp {}, dp {}, {}, sharding {}, {} micro-batches",
                     job.model.name, job.framework.name, job.plan.pp, job.plan.tp, job.plan.dp,
                     workload::ScheduleName(job.plan.schedule), static_cast<int>(job.plan.sharding),
                     job.microbatches());
}

// Each schedule, sharding, family and framework meet, in shapes that take turns: seven, so that
// each schedule and sharding (30 pairs) gets all of them.
TEST(SchedulesTest, EveryJobThatIsAcceptedEnds) {
  std::size_t turn = 0;
  int accepted = 0;
  for (const Model& model : Families()) {
    for (const workload::Framework& framework : workload::Frameworks()) {
      for (const PipelineSchedule schedule : kSchedules) {
        for (const Sharding sharding : kShardings) {
          Job job = JobOf(model, kShapes[turn++ % kShapes.size()], schedule, sharding);
          job.framework = framework;
          if (!CheckJob(job)) {
            continue;
          }
          ++accepted;
          EXPECT_EQ(ErrorOf(job), "") << Described(job);
        }
      }
    }
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace orrery::simulate
