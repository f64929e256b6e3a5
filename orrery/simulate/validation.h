#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/open_keys.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::simulate {

/// A row that was not simulated, and why.
struct RefusedRun {
  std::string id;
  std::string source;
  std::string grade;
  std::string reason;
};

struct Validation {
  std::size_t rows = 0;  // that were asked for
  std::vector<EvaluatedRun> evaluated;
  std::vector<RefusedRun> refused;
};

/// Which rows are asked for.
using LabelFilter = std::function<bool(const workload::RunLabel& label)>;

/// A last change to a job before it is simulated: another framework, another network.
using JobChange = std::function<void(workload::Job& job)>;

struct ValidateOptions {
  LabelFilter filter = {};  // all rows when there is none
  JobChange change = {};
  SimulationOptions engine = {};
  int threads = 0;                                                         // 0: one for each core
  std::function<void(std::size_t done, std::size_t total)> progress = {};  // from any thread
};

/// Simulates the rows of a table of measured runs, in parallel; results are in the order of the
/// table.
[[nodiscard]] Validation Validate(const workload::RunTable& table, const kernel::CostModel& costs,
                                  const ValidateOptions& options = {});

}  // namespace orrery::simulate
