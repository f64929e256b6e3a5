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

Status SimulateRun(const Engine& engine, EvaluatedRun& evaluated) {
  const workload::Job& job = evaluated.run.job;
  ORRERY_TRY(const Simulation simulation, Simulate(job, engine.costs, engine.options));
  evaluated.predicted_s = static_cast<double>(simulation.step_ps()) / kPicoseconds;
  const MemoryAnswer memory = MemoryAnswerOf(simulation.rank_classes, simulation.timeline, job);
  evaluated.memory_bytes = memory.stages[memory.fullest].needed_bytes;
  evaluated.fits = memory.fits();
  return {};
}

// The first that fits, or the last that the GPUs of a node allow.
Status ChooseTensor(const Engine& engine, EvaluatedRun& evaluated) {
  while (!evaluated.fits) {
    EvaluatedRun wider = evaluated;
    if (!workload::CutTensorsFurther(wider.run.job) || !workload::CheckJob(wider.run.job)) {
      break;
    }
    ORRERY_TRY_STATUS(SimulateRun(engine, wider));
    evaluated = std::move(wider);
  }
  evaluated.run.assumptions.push_back(fmt::format("tensor parallelism {}", evaluated.run.job.plan.tp));
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
Status ChooseMicroBatch(const Engine& engine, EvaluatedRun& evaluated) {
  const std::int64_t most = HasExperts(evaluated.run.job) ? 1 : kLargestMicroBatch;
  for (std::int64_t samples = 2; samples <= most && evaluated.fits; samples *= 2) {
    EvaluatedRun larger = evaluated;
    larger.run.job.training.micro_batch = samples;
    if (!workload::CheckJob(larger.run.job)) {
      break;
    }
    ORRERY_TRY_STATUS(SimulateRun(engine, larger));
    if (!larger.fits || larger.predicted_s > kWorthIt * evaluated.predicted_s) {
      break;
    }
    evaluated = std::move(larger);
  }
  evaluated.run.assumptions.push_back(
      fmt::format("micro-batch {}", evaluated.run.job.training.micro_batch));
  return {};
}

// It did run: where its memory would not nearly do otherwise, everything was recomputed.
Status ChooseRecompute(const Engine& engine, EvaluatedRun& evaluated) {
  const auto memory_bytes = static_cast<double>(evaluated.run.job.gpu.memory_size.count);
  if (static_cast<double>(evaluated.memory_bytes) <= kClearlyTooMuch * memory_bytes) {
    return {};
  }
  evaluated.run.job.plan.recompute = workload::Recompute::kFull;
  evaluated.run.assumptions.push_back("full recomputation, since nothing less fits");
  return SimulateRun(engine, evaluated);
}

}  // namespace

Result<EvaluatedRun> EvaluateRun(workload::PublishedRun run, const kernel::CostModel& costs,
                           const SimulationOptions& options) {
  const Engine engine{costs, options};
  EvaluatedRun evaluated;
  evaluated.run = std::move(run);
  ORRERY_TRY_STATUS(SimulateRun(engine, evaluated));
  if (evaluated.run.tensor_is_open) {
    ORRERY_TRY_STATUS(ChooseTensor(engine, evaluated));
  }
  if (evaluated.run.micro_batch_is_open) {
    ORRERY_TRY_STATUS(ChooseMicroBatch(engine, evaluated));
  }
  if (evaluated.run.recompute_is_open) {
    ORRERY_TRY_STATUS(ChooseRecompute(engine, evaluated));
  }
  return evaluated;
}

}  // namespace orrery::simulate
