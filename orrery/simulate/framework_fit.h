#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/estimate.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::simulate {

/// The scalars of one framework, fitted to published runs.
struct FrameworkFit {
  workload::Framework framework;
  std::size_t rows = 0;  // that it was fitted to
  std::vector<std::string> sources = {};
  double error_before = 0;  // mean absolute error of those rows, relative
  double error_after = 0;
};

struct FrameworkFitOptions {
  std::vector<std::string> without_sources = {};  // texts that occur in their names
  std::vector<std::string> only = {};             // names of frameworks; empty: all
  /// Rows of one source that are used, spread evenly over the table.
  std::size_t most_rows_of_source = 120;
  SimulationOptions engine = {};
  /// Told what is being done.
  std::function<void(const std::string&)> progress = {};
};

/// Fits the six scalars of each framework to the runs of tables that are described well (grades A
/// and A−, or a table without grades) and are no accident (utilisation above 10 % where it is
/// printed, tensor parallelism inside a node). Logarithms of predicted over measured time are made
/// small, outliers held back; a prior, worth a few rows, keeps scalars near what kernels and
/// collectives do alone where rows say little. No scalar belongs to a row or a source.
[[nodiscard]] std::vector<FrameworkFit> FitFrameworks(
    std::span<const std::unique_ptr<workload::RunTable>> tables, const kernel::CostModel& costs,
    const FrameworkFitOptions& options);

/// The file that the program is built with (data/workload/framework_fits.yaml).
[[nodiscard]] std::string FitsText(const std::vector<FrameworkFit>& fits);

}  // namespace orrery::simulate
