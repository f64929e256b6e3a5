#include "orrery/simulate/validation.h"

#include <atomic>
#include <optional>
#include <utility>

#include "orrery/base/parallel.h"
#include "orrery/simulate/gpu_memo.h"

namespace orrery::simulate {
namespace {

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
