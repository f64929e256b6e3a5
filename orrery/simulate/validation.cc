#include "orrery/simulate/validation.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/parallel.h"
#include "orrery/simulate/memory_timeline.h"

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
  evaluated.run.assumptions.push_back(
      fmt::format("tensor parallelism {}", evaluated.run.job.plan.tp));
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

struct Outcome {
  std::optional<EvaluatedRun> evaluated;
  RefusedRun refused;
};

Result<EvaluatedRun> Evaluate(const workload::RunTable& table, std::size_t row,
                              const kernel::CostModel& costs, const ValidateOptions& options) {
  ORRERY_TRY(workload::PublishedRun run, table.Read(row));
  if (options.change) {
    options.change(run.job);
  }
  return EvaluateRun(std::move(run), costs, options.engine);
}

Outcome Answer(const workload::RunTable& table, std::size_t row, const kernel::CostModel& costs,
               const ValidateOptions& options) {
  Outcome outcome;
  Result<EvaluatedRun> evaluated = Evaluate(table, row, costs, options);
  const workload::RunLabel label = table.Label(row);
  if (evaluated) {
    outcome.evaluated = std::move(*evaluated);
    outcome.evaluated->run.grade = label.grade;
  } else {
    outcome.refused = {label.id, label.source, label.grade, evaluated.error().message()};
  }
  return outcome;
}

}  // namespace

void GpuMemo::Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
                      std::span<kernel::Estimate> estimates) const {
  const Entry& entry = EntryOf(gpu);
  // The memo answers for the very object that it was made for.
  entry.memo->Predict(operators, entry.gpu, estimates);
}

const GpuMemo::Entry& GpuMemo::EntryOf(const hardware::Gpu& gpu) const {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Entry>& entry = entry_of_gpu_[gpu.name];
  if (entry == nullptr) {
    entry = std::make_unique<Entry>();
    entry->gpu = gpu;
    entry->memo = std::make_unique<kernel::MemoizedCostModel>(costs_, entry->gpu);
  }
  return *entry;
}

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

Validation Validate(const workload::RunTable& table, const kernel::CostModel& costs,
                    const ValidateOptions& options) {
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (!options.filter || options.filter(table.Label(row))) {
      rows.push_back(row);
    }
  }
  const GpuMemo memo(costs);
  std::vector<Outcome> outcomes(rows.size());
  std::atomic<std::size_t> done = 0;
  ParallelFor(rows.size(), options.threads, [&](std::size_t i) {
    outcomes[i] = Answer(table, rows[i], memo, options);
    if (options.progress) {
      options.progress(++done, rows.size());
    }
  });
  Validation validation;
  validation.rows = rows.size();
  for (Outcome& outcome : outcomes) {
    if (outcome.evaluated) {
      validation.evaluated.push_back(std::move(*outcome.evaluated));
    } else {
      validation.refused.push_back(std::move(outcome.refused));
    }
  }
  return validation;
}

}  // namespace orrery::simulate
