#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "orrery/calibrate/interval_calibration.h"
#include "orrery/calibrate/scalar_population.h"
#include "orrery/calibrate/validation.h"
#include "orrery/collective/machine_models.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/run_table.h"

namespace orrery::calibrate {

/// The scalars of one framework, fitted to published runs.
struct FrameworkFit {
  workload::Framework framework;
  std::size_t rows = 0;  // that it was fitted to
  std::vector<std::string> stacks = {};
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

/// Rows that a fit must not see: all of a stack, since they share their code, and all of a team,
/// since they share their machines.
struct LeftOut {
  std::string stack = {};  // empty: none
  std::string team = {};   // empty: none

  template <typename Run>
  [[nodiscard]] bool Has(const Run& run) const {
    return (!stack.empty() && run.stack == stack) || (!team.empty() && run.team == team);
  }

  auto operator<=>(const LeftOut&) const = default;
};

/// Models for the prediction of rows that were left out of a fit: the scalars of that fit, and the
/// constants of collectives that neither the stack's author nor the team measured.
struct LeftOutModels {
  std::vector<workload::Framework> frameworks;
  collective::MachineModels collectives = {};
};

struct FrameworkFitOptions {
  /// Rows of one release of a team, and of one team, spread evenly over the table.
  std::size_t most_rows_of_release = 40;
  std::size_t most_rows_of_team = 96;
  /// Of a stack, spread evenly, whose residuals calibrate intervals.
  std::size_t most_rows_of_calibration = 160;
  int rounds = 3;  // of linearisation
  workload::Mechanisms mechanisms = {};
  /// Options of the simulation of steps. Transfers have the network to themselves, whatever it
  /// says: scalars hold what sharing costs on the mean.
  simulate::SimulationOptions engine = {};
  /// Called with a description of the current work.
  std::function<void(const std::string&)> progress = {};
};

/// Fits the scalars of all frameworks at once to the runs of tables that are described well (grades
/// A and A−, or a table without grades) and are no accident (utilisation above 10 % where it is
/// printed, tensor parallelism inside a node).
///
/// The fit is hierarchical: scalars of frameworks are draws from one population, whose mean and
/// spread are fitted too (SolvePopulation), so that a framework with few rows stays near the
/// population and one without any is its mean. Predictions are linear in the scalars around their
/// current values, and simulated again each round. Teams count alike, however many rows they have;
/// outliers are held back. No scalar belongs to a row, a source or a team.
class FrameworkFitting {
 public:
  /// Reads the rows. All must outlive this.
  FrameworkFitting(std::span<const workload::RunTable* const> tables,
                   const kernel::CostModel& costs, const FrameworkFitOptions& options);

  /// Fits all rows.
  [[nodiscard]] const PopulationFit& Fit() { return FitWithout({}); }

  /// The fit that has not seen some rows, linear around its own scalars. Predictions that all rows'
  /// fit has simulated within a step of finite differences of these scalars are taken from there.
  /// Simulates the first time that it is asked.
  [[nodiscard]] const PopulationFit& FitWithout(const LeftOut& left_out);

  [[nodiscard]] LeftOutModels ModelsWithout(const LeftOut& left_out);

  /// Residuals of rows of all grades that validation evaluates (A, A−, B+, none), each predicted by
  /// a fit that has seen neither its stack nor its team, nor those `also_left_out`, whose own
  /// residuals are not among them. The first call simulates each row once; with others left out,
  /// the change of the scalars is followed to first order, by the shares of the step.
  [[nodiscard]] std::vector<StepResidual> Residuals(const LeftOut& also_left_out = {});

 private:
  struct Row {
    workload::PublishedRun run;
    std::string framework;  // whose scalars it has
    double weight = 1;
  };

  /// Linearised rows of a framework around some scalars, in the order of rows_.
  using Linearised = std::map<std::string, LinearRows>;  // by framework
  using Scalars = std::map<std::string, ScalarVector>;   // by framework

  /// A fit and what it is linear around.
  struct Solved {
    PopulationFit fit;
    Linearised linear;
  };

  /// A simulated row of the calibration.
  struct Judged {
    LeftOut left_out;
    std::string framework;
    StepResidual residual;
  };

  void ReadRows(std::span<const workload::RunTable* const> tables);
  void SimulateCalibration();
  void SimulateCalibration(const workload::RunTable& table);
  [[nodiscard]] const Solved& SolvedWithout(const LeftOut& left_out);
  [[nodiscard]] Solved FitAnew(const std::vector<bool>& is_left_out);
  [[nodiscard]] PopulationFit Solve(const Linearised& linear,
                                    const std::vector<bool>& is_left_out) const;
  [[nodiscard]] LinearRows LinearRowsAt(const std::string& framework, const ScalarVector& around,
                                        bool is_of_all);
  [[nodiscard]] LinearRows Linearise(const std::string& framework,
                                     const ScalarVector& around) const;
  [[nodiscard]] double LogRatio(const Row& row, const ScalarVector& scalars) const;
  [[nodiscard]] std::vector<bool> RowsOf(std::span<const LeftOut> left_out) const;
  void Tell(const std::string& what) const;

  std::span<const workload::RunTable* const> tables_;
  kernel::GpuMemo costs_;
  FrameworkFitOptions options_;
  simulate::SimulationOptions judging_engine_;
  std::vector<Row> rows_;
  std::map<std::string, std::vector<LinearRows>> of_all_;  // by framework, of the fit to all rows
  std::map<std::vector<bool>, Solved> solved_;             // by the rows that are left out
  std::vector<Judged> judged_;
};

/// The file that the program is built with (data/workload/framework_fits.yaml).
[[nodiscard]] std::string FitsText(const PopulationFit& fit,
                                   const simulate::StepIntervals& intervals);

/// Gives a framework the scalars of the one of its name, where there is one.
void CopyScalarsNamed(const std::vector<workload::Framework>& known,
                      workload::Framework& framework);

/// Frameworks with the scalars of a fit; those that it has no rows of get the population's mean.
[[nodiscard]] std::vector<workload::Framework> FrameworksOf(const PopulationFit& fit);

}  // namespace orrery::calibrate
