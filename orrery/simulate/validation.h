#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/published_run.h"

namespace orrery::simulate {

/// A measured step time beside ours.
struct JudgedRun {
  workload::PublishedRun run;
  double predicted_s = 0;

  /// (predicted − measured) / measured.
  [[nodiscard]] double Error() const { return predicted_s / run.measured_s - 1; }
};

/// A row that was not simulated, and why.
struct RefusedRun {
  std::string id;
  std::string source;
  std::string reason;
};

struct Validation {
  std::size_t rows = 0;  // that were asked for
  std::vector<JudgedRun> judged;
  std::vector<RefusedRun> refused;
};

/// Which rows are asked for.
using RowFilter = std::function<bool(const Table& table, std::size_t row)>;

/// A last change to a job before it is simulated: another framework, another network.
using JobChange = std::function<void(workload::Job& job)>;

/// Simulates the rows of a table of published runs, in parallel; results are in the order of the
/// table. Fails only for a table that is none.
[[nodiscard]] Result<Validation> Validate(const Table& table, const kernel::CostModel& costs,
                                          const RowFilter& filter, const JobChange& change = {});

}  // namespace orrery::simulate
