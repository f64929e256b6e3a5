#include "orrery/simulate/validation.h"

#include <optional>
#include <utility>

#include "orrery/base/parallel.h"
#include "orrery/simulate/gpu_memo.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;

struct Outcome {
  std::optional<JudgedRun> judged;
  RefusedRun refused;
};

std::string TextAt(const Table& table, std::size_t row, std::string_view column) {
  return std::string(table.Text(row, column).value_or(""));
}

Result<JudgedRun> Judge(const Table& table, std::size_t row, const kernel::CostModel& costs,
                        const JobChange& change) {
  JudgedRun judged;
  ORRERY_TRY(judged.run, workload::ReadPublishedRun(table, row));
  if (change) {
    change(judged.run.job);
  }
  ORRERY_TRY(const Simulation simulation, Simulate(judged.run.job, costs));
  judged.predicted_s = static_cast<double>(simulation.step_ps()) / kPicoseconds;
  return judged;
}

}  // namespace

Result<Validation> Validate(const Table& table, const kernel::CostModel& costs,
                            const RowFilter& filter, const JobChange& change) {
  ORRERY_TRY_STATUS(workload::CheckPublishedColumns(table));
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (!filter || filter(table, row)) {
      rows.push_back(row);
    }
  }
  const GpuMemo memo(costs);
  std::vector<Outcome> outcomes(rows.size());
  ParallelFor(rows.size(), 0, [&](std::size_t i) {
    Result<JudgedRun> judged = Judge(table, rows[i], memo, change);
    if (judged) {
      outcomes[i].judged = std::move(*judged);
    } else {
      outcomes[i].refused = {TextAt(table, rows[i], "id"), TextAt(table, rows[i], "source"),
                             judged.error().message()};
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
