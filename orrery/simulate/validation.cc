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

// Rows that are asked for, as they are read.
struct Questions {
  std::vector<std::size_t> rows;
  std::function<workload::RunLabel(std::size_t row)> label;
  std::function<Result<workload::PublishedRun>(std::size_t row)> read;
};

Status SimulateRun(const kernel::CostModel& costs, JudgedRun& judged) {
  const workload::Job& job = judged.run.job;
  ORRERY_TRY(const Simulation simulation, Simulate(job, costs));
  judged.predicted_s = static_cast<double>(simulation.step_ps()) / kPicoseconds;
  const MemoryAnswer memory = MemoryAnswerOf(simulation.cast, simulation.performance, job.gpu);
  judged.memory_bytes = memory.stages[memory.fullest].needed_bytes;
  judged.fits = memory.fits();
  return {};
}

Result<JudgedRun> Judge(const Questions& questions, std::size_t row, const kernel::CostModel& costs,
                        const JobChange& change) {
  JudgedRun judged;
  ORRERY_TRY(judged.run, questions.read(row));
  if (change) {
    change(judged.run.job);
  }
  ORRERY_TRY_STATUS(SimulateRun(costs, judged));
  // It did run: where a row does not say what was computed twice and its memory would not nearly do
  // otherwise, everything was.
  const auto memory_bytes = static_cast<double>(judged.run.job.gpu.memory_size.count);
  if (judged.run.recompute_is_open &&
      static_cast<double>(judged.memory_bytes) > kClearlyTooMuch * memory_bytes) {
    judged.run.job.plan.recompute = workload::Recompute::kFull;
    judged.run.assumptions.push_back("full recomputation, since nothing less fits");
    ORRERY_TRY_STATUS(SimulateRun(costs, judged));
  }
  return judged;
}

Outcome Answer(const Questions& questions, std::size_t row, const kernel::CostModel& costs,
               const JobChange& change) {
  Outcome outcome;
  Result<JudgedRun> judged = Judge(questions, row, costs, change);
  const workload::RunLabel label = questions.label(row);
  if (judged) {
    outcome.judged = std::move(*judged);
    outcome.judged->run.grade = label.grade;
  } else {
    outcome.refused = {label.id, label.source, label.grade, judged.error().message()};
  }
  return outcome;
}

Validation AnswerAll(const Questions& questions, const kernel::CostModel& costs,
                     const ValidateOptions& options) {
  const GpuMemo memo(costs);
  const std::vector<std::size_t>& rows = questions.rows;
  std::vector<Outcome> outcomes(rows.size());
  std::atomic<std::size_t> done = 0;
  ParallelFor(rows.size(), options.threads, [&](std::size_t i) {
    outcomes[i] = Answer(questions, rows[i], memo, options.change);
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

std::string TextAt(const Table& table, std::size_t row, std::string_view column) {
  return std::string(table.Text(row, column).value_or(""));
}

}  // namespace

Validation Validate(const workload::RunTable& table, const kernel::CostModel& costs,
                    const ValidateOptions& options) {
  Questions questions;
  questions.label = [&](std::size_t row) { return table.Label(row); };
  questions.read = [&](std::size_t row) { return table.Read(row); };
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (!options.filter || options.filter(table.Label(row))) {
      questions.rows.push_back(row);
    }
  }
  return AnswerAll(questions, costs, options);
}

Result<Validation> Validate(const Table& table, const kernel::CostModel& costs,
                            const RowFilter& filter, const JobChange& change) {
  ORRERY_TRY_STATUS(workload::CheckPublishedColumns(table));
  Questions questions;
  questions.label = [&](std::size_t row) {
    return workload::RunLabel{TextAt(table, row, "id"), TextAt(table, row, "source"),
                              TextAt(table, row, "completeness")};
  };
  questions.read = [&](std::size_t row) { return workload::ReadPublishedRun(table, row); };
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (!filter || filter(table, row)) {
      questions.rows.push_back(row);
    }
  }
  return AnswerAll(questions, costs, {.change = change});
}

}  // namespace orrery::simulate
