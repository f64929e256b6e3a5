#include "orrery/simulate/validation.h"

#include <atomic>
#include <optional>
#include <utility>

#include "orrery/base/parallel.h"
#include "orrery/simulate/gpu_memo.h"
#include "orrery/simulate/memory_answer.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr double kClearlyTooMuch = 1.3;  // memory is predicted within that

struct Outcome {
  std::optional<JudgedRun> judged;
  RefusedRun refused;
};

Status SimulateRun(const kernel::CostModel& costs, const SimulationOptions& engine,
                   JudgedRun& judged) {
  const workload::Job& job = judged.run.job;
  ORRERY_TRY(const Simulation simulation, Simulate(job, costs, engine));
  judged.predicted_s = static_cast<double>(simulation.step_ps()) / kPicoseconds;
  const MemoryAnswer memory = MemoryAnswerOf(simulation.cast, simulation.performance, job);
  judged.memory_bytes = memory.stages[memory.fullest].needed_bytes;
  judged.fits = memory.fits();
  return {};
}

Result<JudgedRun> Judge(const workload::RunTable& table, std::size_t row,
                        const kernel::CostModel& costs, const ValidateOptions& options) {
  JudgedRun judged;
  ORRERY_TRY(judged.run, table.Read(row));
  if (options.change) {
    options.change(judged.run.job);
  }
  ORRERY_TRY_STATUS(SimulateRun(costs, options.engine, judged));
  // It did run: where a row does not say what was computed twice and its memory would not nearly do
  // otherwise, everything was.
  const auto memory_bytes = static_cast<double>(judged.run.job.gpu.memory_size.count);
  if (judged.run.recompute_is_open &&
      static_cast<double>(judged.memory_bytes) > kClearlyTooMuch * memory_bytes) {
    judged.run.job.plan.recompute = workload::Recompute::kFull;
    judged.run.assumptions.push_back("full recomputation, since nothing less fits");
    ORRERY_TRY_STATUS(SimulateRun(costs, options.engine, judged));
  }
  return judged;
}

Outcome Answer(const workload::RunTable& table, std::size_t row, const kernel::CostModel& costs,
               const ValidateOptions& options) {
  Outcome outcome;
  Result<JudgedRun> judged = Judge(table, row, costs, options);
  const workload::RunLabel label = table.Label(row);
  if (judged) {
    outcome.judged = std::move(*judged);
    outcome.judged->run.grade = label.grade;
  } else {
    outcome.refused = {label.id, label.source, label.grade, judged.error().message()};
  }
  return outcome;
}

}  // namespace

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
    if (outcome.judged) {
      validation.judged.push_back(std::move(*outcome.judged));
    } else {
      validation.refused.push_back(std::move(outcome.refused));
    }
  }
  return validation;
}

}  // namespace orrery::simulate
