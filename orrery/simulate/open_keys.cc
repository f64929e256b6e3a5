#include "orrery/simulate/open_keys.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "orrery/simulate/memory_answer.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr double kClearlyTooMuch = 1.3;  // memory is predicted within that
constexpr std::int64_t kLargestMicroBatch = 8;
constexpr double kWorthIt = 0.95;  // of the time: less is not gained by giving away memory

/// What simulates a run.
struct Engine {
  const kernel::CostModel& costs;
  const SimulationOptions& options;
};

Status SimulateRun(const Engine& engine, JudgedRun& judged) {
  const workload::Job& job = judged.run.job;
  ORRERY_TRY(const Simulation simulation, Simulate(job, engine.costs, engine.options));
  judged.predicted_s = static_cast<double>(simulation.step_ps()) / kPicoseconds;
  const MemoryAnswer memory = MemoryAnswerOf(simulation.cast, simulation.performance, job);
  judged.memory_bytes = memory.stages[memory.fullest].needed_bytes;
  judged.fits = memory.fits();
  return {};
}

// The first that fits, or the last that the GPUs of a node allow.
Status ChooseTensor(const Engine& engine, JudgedRun& judged) {
  while (!judged.fits) {
    JudgedRun wider = judged;
    if (!workload::CutTensorsFurther(wider.run.job) || !workload::CheckJob(wider.run.job)) {
      break;
    }
    ORRERY_TRY_STATUS(SimulateRun(engine, wider));
    judged = std::move(wider);
  }
  judged.run.assumptions.push_back(fmt::format("tensor parallelism {}", judged.run.job.plan.tp));
  return {};
}

// Experts get as many tokens as choose them, so that nobody can tell how many samples fit.
bool HasExperts(const workload::Job& job) {
  const workload::Transformer* const model = job.model.transformer();
  return model != nullptr && std::ranges::any_of(model->blocks, [](const workload::BlockRun& run) {
           return run.block.experts() != nullptr;
         });
}

// Larger ones only as long as they help: work grows more efficient, bubbles grow longer.
Status ChooseMicroBatch(const Engine& engine, JudgedRun& judged) {
  const std::int64_t most = HasExperts(judged.run.job) ? 1 : kLargestMicroBatch;
  for (std::int64_t samples = 2; samples <= most && judged.fits; samples *= 2) {
    JudgedRun larger = judged;
    larger.run.job.training.micro_batch = samples;
    if (!workload::CheckJob(larger.run.job)) {
      break;
    }
    ORRERY_TRY_STATUS(SimulateRun(engine, larger));
    if (!larger.fits || larger.predicted_s > kWorthIt * judged.predicted_s) {
      break;
    }
    judged = std::move(larger);
  }
  judged.run.assumptions.push_back(
      fmt::format("micro-batch {}", judged.run.job.training.micro_batch));
  return {};
}

// It did run: where its memory would not nearly do otherwise, everything was recomputed.
Status ChooseRecompute(const Engine& engine, JudgedRun& judged) {
  const auto memory_bytes = static_cast<double>(judged.run.job.gpu.memory_size.count);
  if (static_cast<double>(judged.memory_bytes) <= kClearlyTooMuch * memory_bytes) {
    return {};
  }
  judged.run.job.plan.recompute = workload::Recompute::kFull;
  judged.run.assumptions.push_back("full recomputation, since nothing less fits");
  return SimulateRun(engine, judged);
}

}  // namespace

Result<JudgedRun> JudgeRun(workload::PublishedRun run, const kernel::CostModel& costs,
                           const SimulationOptions& options) {
  const Engine engine{costs, options};
  JudgedRun judged;
  judged.run = std::move(run);
  ORRERY_TRY_STATUS(SimulateRun(engine, judged));
  if (judged.run.tensor_is_open) {
    ORRERY_TRY_STATUS(ChooseTensor(engine, judged));
  }
  if (judged.run.micro_batch_is_open) {
    ORRERY_TRY_STATUS(ChooseMicroBatch(engine, judged));
  }
  if (judged.run.recompute_is_open) {
    ORRERY_TRY_STATUS(ChooseRecompute(engine, judged));
  }
  return judged;
}

}  // namespace orrery::simulate
