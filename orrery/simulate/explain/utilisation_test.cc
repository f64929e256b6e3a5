#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/kernel/model_set.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/plan/plan.h"

// No GPU computes more than its peak.

namespace orrery::simulate {
namespace {

using workload::Job;
using workload::Transformer;

/// A choice of a fixed sequence, the same everywhere.
class Draw {
 public:
  template <typename Value, std::size_t kCount>
  const Value& OneOf(const std::array<Value, kCount>& values) {
    return values[random_() % kCount];
  }

  template <typename Value>
  const Value& OneOf(const std::vector<Value>& values) {
    return values[random_() % values.size()];
  }

 private:
  std::mt19937_64 random_{44};
};

/// Two blocks of each kind: of long models nothing but time is lost.
Transformer Shortened(Transformer model) {
  for (std::vector<workload::BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    for (workload::BlockRun& run : *stack) {
      run.count = 2;
    }
  }
  return model;
}

void SetWindows(std::int64_t window, Transformer& model) {
  for (workload::BlockRun& run : model.blocks) {
    run.block.self.window = run.block.self.is_causal ? window : run.block.self.window;
  }
}

// MFU counts the whole square of causal attention, twice what kernels execute: beyond 16,384 tokens
// the square may be most of the step, and the convention says nothing about the GPU.
constexpr std::array<std::int64_t, 4> kSequences{512, 2048, 8192, 16384};

TEST(UtilisationProperty, NoJobIsAboveThePeak) {
  const kernel::ModelSet models = kernel::ShippedModels().value();
  std::vector<workload::Preset> transformers;
  for (const workload::Preset& preset : workload::Presets().models) {
    if (workload::ModelOf(preset, DataType::kBf16).value().transformer() != nullptr) {
      transformers.push_back(preset);
    }
  }
  Draw draw;
  int simulated = 0;
  for (int i = 0; i < 300; ++i) {
    workload::Model model = workload::ModelOf(draw.OneOf(transformers), DataType::kBf16).value();
    Transformer body = Shortened(*model.transformer());
    const std::int64_t window = draw.OneOf(std::array<std::int64_t, 4>{0, 16, 128, 4096});
    SetWindows(window, body);
    model.body = body;
    const std::int64_t side = body.patch > 0 ? body.image / body.patch : 0;
    const std::int64_t sequence = draw.OneOf(kSequences);
    Job job = workload::JobOf({.model = std::move(model),
                               .sequence = side > 0 ? side * side + 1 : sequence,
                               .micro_batch = draw.OneOf(std::array<std::int64_t, 3>{1, 4, 16}),
                               .microbatches = 2});
    job.gpu = *hardware::FindGpu(
        draw.OneOf(std::array<std::string, 5>{"H100", "A100-80GB", "B200", "H20", "V100"}));
    job.framework = draw.OneOf(workload::Frameworks());
    job.training.adapter_rank = draw.OneOf(std::array<std::int64_t, 3>{0, 0, 64});
    const std::int64_t frozen = draw.OneOf(std::array<std::int64_t, 3>{0, 0, 1});
    job.training.frozen_blocks = job.model.transformer()->is_tied ? 0 : frozen;
    job.plan.recompute =
        draw.OneOf(std::array{workload::Recompute::kNothing, workload::Recompute::kFull});
    if (!CheckJob(job)) {
      continue;
    }
    const auto step = Simulate(job, models);
    if (!step) {
      continue;  // GPUs without a peak or a type
    }
    ++simulated;
    const std::string described =
        fmt::format("{} on {} with {}: window {}, sequence {}, micro-batch {}, adapters {}",
                    job.model.name, job.gpu.name, job.framework.name, window, job.training.sequence,
                    job.training.micro_batch, job.training.adapter_rank);
    const double model_share = ModelUtilisation(job, step->step_ps()).share;
    const double hardware_share = HardwareUtilisation(job, step->step_ps()).share;
    EXPECT_LE(model_share, hardware_share * (1 + 1e-12)) << described;
    EXPECT_LE(hardware_share, 1) << described;
  }
  EXPECT_GT(simulated, 150);
}

}  // namespace
}  // namespace orrery::simulate
