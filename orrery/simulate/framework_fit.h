#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/estimate.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/validation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/run_table.h"

namespace orrery::simulate {

/// Logarithms of the fitted scalars.
using ScalarVector = std::array<double, workload::kNumScalars>;

[[nodiscard]] ScalarVector ScalarsOf(const workload::Framework& framework);
void SetScalars(const ScalarVector& scalars, workload::Framework& framework);

/// The scalars of one framework, fitted to published runs.
struct FrameworkFit {
  workload::Framework framework;
  std::size_t rows = 0;  // that it was fitted to
  std::vector<std::string> teams = {};
  double error_before =
      0;  // mean absolute error of those rows with the population's mean, relative
  double error_after = 0;
};

/// Scalars of all frameworks: how they are spread over the population, and those of each that has
/// rows.
struct PopulationFit {
  workload::ScalarPopulation population;
  std::vector<FrameworkFit> frameworks;
};

struct FrameworkFitOptions {
  /// Rows of one release of a team, and of one team, spread evenly over the table.
  std::size_t most_rows_of_release = 40;
  std::size_t most_rows_of_team = 96;
  int rounds = 3;  // of linearisation
  workload::Mechanisms mechanisms = {};
  /// How steps are simulated. Transfers have the network to themselves, whatever it says: scalars
  /// hold what sharing costs on the mean.
  SimulationOptions engine = {};
  /// Told what is being done.
  std::function<void(const std::string&)> progress = {};
};

/// Fits the scalars of all frameworks at once to the runs of tables that are described well (grades
/// A and A−, or a table without grades) and are no accident (utilisation above 10 % where it is
/// printed, tensor parallelism inside a node).
///
/// The fit is hierarchical: scalars of frameworks are draws from one population, whose mean and
/// spread are fitted too (EM for a linear Gaussian model), so that a framework with few rows stays
/// near the population and one without any is its mean. Predictions are linear in the scalars
/// around their current values, and simulated anew each round. Teams count alike, however many rows
/// they have; outliers are held back. No scalar belongs to a row, a source or a team.
class FrameworkFitting {
 public:
  /// Reads the rows. All must outlive this.
  FrameworkFitting(std::span<const workload::RunTable* const> tables,
                   const kernel::CostModel& costs, const FrameworkFitOptions& options);

  /// Simulates all rounds. Afterwards Solve is quick.
  void Run();

  /// The fit without the rows of a team (all, if it is empty), from the last simulations.
  [[nodiscard]] PopulationFit Solve(const std::string& without_team = {}) const;

 private:
  struct Row {
    workload::PublishedRun run;
    std::string framework;  // whose scalars it has
    double weight = 1;
    double log_ratio = 0;  // of predicted to measured
    ScalarVector slopes = {};
  };

  void ReadRows(std::span<const workload::RunTable* const> tables);
  void Linearise();
  [[nodiscard]] double LogRatio(const Row& row, const ScalarVector& scalars) const;

  GpuMemo costs_;
  FrameworkFitOptions options_;
  std::vector<Row> rows_;
  std::map<std::string, ScalarVector> scalars_;  // around which rows are linear
};

/// The file that the program is built with (data/workload/framework_fits.yaml).
[[nodiscard]] std::string FitsText(const PopulationFit& fit);

/// Frameworks with the scalars of a fit; those that it has no rows of get the population's mean.
[[nodiscard]] std::vector<workload::Framework> FrameworksOf(const PopulationFit& fit);

}  // namespace orrery::simulate
