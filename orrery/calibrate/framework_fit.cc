#include "orrery/calibrate/framework_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/document/json_text.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/interval_calibration.h"
#include "orrery/calibrate/scalar_population.h"
#include "orrery/calibrate/validation.h"
#include "orrery/collective/machine_models.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/explain/interval.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/job/published/run_table.h"
#include "orrery/workload/job/stack.h"
#include "orrery/workload/model/model.h"

namespace orrery::calibrate {
namespace {

using simulate::IntervalsText;
using simulate::kHost;
using simulate::kNumStepParts;
using simulate::NetworkModel;
using simulate::Simulate;
using simulate::Simulation;
using simulate::StepIntervals;
using simulate::StepTraits;
using workload::FittedScalar;
using workload::FittedScalars;
using workload::Framework;
using workload::PublishedRun;
using workload::RunLabel;

constexpr double kPicoseconds = 1e12;
constexpr double kLeastUtilisation = 10;  // percent
// Passes of one step through all blocks: longer runs say no more, and take the time of many.
constexpr std::int64_t kMostBlockPasses = 6'000;
/// The weight of all rows of one team together, in independent rows.
constexpr double kRowsOfTeam = 48;

bool IsShort(const PublishedRun& run) {
  const workload::Transformer* const model = run.job.model.transformer();
  return model == nullptr || run.job.microbatches() * model->num_blocks() <= kMostBlockPasses;
}

bool IsUsable(const PublishedRun& run) {
  return IsShort(run) && (!run.mfu_percent || *run.mfu_percent > kLeastUtilisation) &&
         run.job.plan.tp <= run.job.cluster.gpus_per_node;
}

bool IsWellDescribed(const RunLabel& label) {
  return label.grade.empty() || label.grade == "A" || label.grade == "A-";
}

// The grades that the metrics of documents include.
bool IsJudged(const RunLabel& label) {
  return IsWellDescribed(label) || label.grade == "B+";
}

const std::string& OwnerOf(const Framework& framework) {
  return framework.scalars_of.empty() ? framework.name : framework.scalars_of;
}

template <typename T>
std::vector<T> SpreadEvenly(std::vector<T> all, std::size_t most) {
  std::vector<T> chosen;
  const std::size_t count = std::min(most, all.size());
  for (std::size_t i = 0; i < count; ++i) {
    chosen.push_back(std::move(all[i * all.size() / count]));
  }
  return chosen;
}

/// The change of ln of a step with the scalars, to first order: by the shares of the step.
double LogChange(const StepTraits& traits, const ScalarVector& from, const ScalarVector& to) {
  double change = 0;
  for (std::size_t part = 0; part < kNumStepParts; ++part) {
    const double direction = part == kHost ? 1 : -1;  // the others are rates
    change += direction * traits.shares[part] * (to[part] - from[part]);
  }
  return change;
}

bool IsWithinSteps(const ScalarVector& a, const ScalarVector& b) {
  const ScalarVector steps = ScalarSteps();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (std::abs(a[i] - b[i]) > steps[i]) {
      return false;
    }
  }
  return true;
}

std::string NamesText(const char* key, const std::vector<std::string>& names) {
  std::string text = fmt::format("    {}:\n", key);
  for (const std::string& name : names) {
    text += fmt::format("      - {}\n", QuoteJson(name));
  }
  return text;
}

ScalarVector ScalarsNamed(const std::string& name, const PopulationFit& fit) {
  const std::vector<Framework> frameworks = FrameworksOf(fit);
  return ScalarsOf(*std::ranges::find(frameworks, name, &Framework::name));
}

}  // namespace

FrameworkFitting::FrameworkFitting(std::span<const workload::RunTable* const> tables,
                                   const kernel::CostModel& costs,
                                   const FrameworkFitOptions& options)
    : tables_(tables), costs_(costs), options_(options), judging_engine_(options.engine) {
  options_.engine.network.model = NetworkModel::kAlone;
  ReadRows(tables);
}

void FrameworkFitting::Tell(const std::string& what) const {
  if (options_.progress) {
    options_.progress(what);
  }
}

// As validation describes them, with what it chooses for what a row leaves open.
void FrameworkFitting::ReadRows(std::span<const workload::RunTable* const> tables) {
  ValidateOptions asked;
  asked.engine = options_.engine;
  asked.change = [&](const RunLabel&, workload::Job& job) { job.mechanisms = options_.mechanisms; };
  std::map<std::string, std::map<std::string, std::vector<Row>>> rows;  // by team and release
  for (const workload::RunTable* const table : tables) {
    // The rows of a release are chosen before they are simulated.
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> ids;
    for (std::size_t row = 0; row < table->num_rows(); ++row) {
      const RunLabel label = table->Label(row);
      if (!IsWellDescribed(label)) {
        continue;
      }
      if (const Result<PublishedRun> run = table->Read(row); run && IsUsable(*run)) {
        ids[{label.team, label.release}].push_back(label.id);
      }
    }
    std::set<std::string> chosen;
    for (auto& [key, of_release] : ids) {
      for (std::string& id : SpreadEvenly(std::move(of_release), options_.most_rows_of_release)) {
        chosen.insert(std::move(id));
      }
    }
    asked.filter = [&](const RunLabel& label) { return chosen.contains(label.id); };
    for (EvaluatedRun& evaluated : Validate(*table, costs_, asked).evaluated) {
      Row row{.run = std::move(evaluated.run), .framework = {}};
      row.framework = OwnerOf(row.run.job.framework);
      rows[row.run.team][row.run.release].push_back(std::move(row));
    }
  }
  for (auto& [team, releases] : rows) {
    std::vector<Row> of_team;
    for (auto& [release, of_release] : releases) {
      std::ranges::move(of_release, std::back_inserter(of_team));
    }
    of_team = SpreadEvenly(std::move(of_team), options_.most_rows_of_team);
    for (Row& row : of_team) {
      row.weight = std::min(1.0, kRowsOfTeam / static_cast<double>(of_team.size()));
      rows_.push_back(std::move(row));
    }
  }
}

// A run that cannot be simulated counts as right, so that it moves nothing.
double FrameworkFitting::LogRatio(const Row& row, const ScalarVector& scalars) const {
  workload::Job job = row.run.job;
  SetScalars(scalars, job.framework);
  const Result<Simulation> simulation = Simulate(job, costs_, options_.engine);
  return simulation ? std::log(static_cast<double>(simulation->step_ps()) / kPicoseconds /
                               row.run.measured_s)
                    : 0;
}

LinearRows FrameworkFitting::Linearise(const std::string& framework,
                                       const ScalarVector& around) const {
  std::vector<const Row*> rows;
  for (const Row& row : rows_) {
    if (row.framework == framework) {
      rows.push_back(&row);
    }
  }
  LinearRows linear{.around = around, .rows = std::vector<LinearRow>(rows.size())};
  const ScalarVector steps = ScalarSteps();
  ParallelFor(rows.size(), 0, [&](std::size_t i) {
    LinearRow& row = linear.rows[i];
    row.weight = rows[i]->weight;
    row.log_ratio = LogRatio(*rows[i], around);
    for (std::size_t place = 0; place < steps.size(); ++place) {
      ScalarVector moved = around;
      moved[place] += steps[place];
      row.slopes[place] = (LogRatio(*rows[i], moved) - row.log_ratio) / steps[place];
    }
  });
  return linear;
}

// Only what the fit to all rows has simulated is used again, so that the answer does not depend on
// what else was asked.
LinearRows FrameworkFitting::LinearRowsAt(const std::string& framework, const ScalarVector& around,
                                          bool is_of_all) {
  std::vector<LinearRows>& known = of_all_[framework];
  const auto found = std::ranges::find_if(
      known, [&](const LinearRows& rows) { return IsWithinSteps(rows.around, around); });
  if (!is_of_all && found != known.end()) {
    return *found;
  }
  LinearRows linear = Linearise(framework, around);
  if (is_of_all) {
    known.push_back(linear);
  }
  return linear;
}

std::vector<bool> FrameworkFitting::RowsOf(std::span<const LeftOut> left_out) const {
  std::vector<bool> rows;
  for (const Row& row : rows_) {
    rows.push_back(
        std::ranges::any_of(left_out, [&](const LeftOut& some) { return some.Has(row.run); }));
  }
  return rows;
}

FrameworkFitting::Solved FrameworkFitting::FitAnew(const std::vector<bool>& is_left_out) {
  const auto left = static_cast<std::size_t>(std::ranges::count(is_left_out, true));
  std::set<std::string> with_rows;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!is_left_out[i]) {
      with_rows.insert(rows_[i].framework);
    }
  }
  Solved solved;
  // Not from the shipped ones, so that the same tables always give the same file.
  Scalars scalars;
  for (const std::string& framework : with_rows) {
    scalars[framework] = ExpectedScalars();
  }
  for (int round = 0; round < options_.rounds; ++round) {
    Tell(fmt::format("round {} of {}: {} rows, {} left out", round + 1, options_.rounds,
                     rows_.size() - left, left));
    for (const std::string& framework : with_rows) {
      solved.linear[framework] = LinearRowsAt(framework, scalars.at(framework), left == 0);
    }
    solved.fit = Solve(solved.linear, is_left_out);
    for (const FrameworkFit& one : solved.fit.frameworks) {
      scalars[one.framework.name] = ScalarsOf(one.framework);
    }
  }
  return solved;
}

const FrameworkFitting::Solved& FrameworkFitting::SolvedWithout(const LeftOut& left_out) {
  if (solved_.empty()) {
    const std::vector<bool> none(rows_.size(), false);
    solved_.emplace(none, FitAnew(none));
  }
  const std::vector<bool> rows = RowsOf({&left_out, 1});
  const auto found = solved_.find(rows);
  return found != solved_.end() ? found->second
                                : solved_.emplace(rows, FitAnew(rows)).first->second;
}

const PopulationFit& FrameworkFitting::FitWithout(const LeftOut& left_out) {
  return SolvedWithout(left_out).fit;
}

LeftOutModels FrameworkFitting::ModelsWithout(const LeftOut& left_out) {
  LeftOutModels models{.frameworks = FrameworksOf(FitWithout(left_out))};
  const std::vector<std::string> sources =
      workload::CollectivesMeasuredBy(left_out.stack, left_out.team);
  for (const collective::MachineModel& model : collective::MachineModels::Shipped().all()) {
    if (std::ranges::find(sources, model.source) == sources.end()) {
      models.collectives.Add(model);
    }
  }
  return models;
}

PopulationFit FrameworkFitting::Solve(const Linearised& linear,
                                      const std::vector<bool>& is_left_out) const {
  std::vector<LinearRows> rows;
  PopulationFit fit;
  for (const Framework& framework : workload::Frameworks()) {
    const auto all = linear.find(framework.name);
    if (all == linear.end()) {
      continue;
    }
    LinearRows of_framework{.around = all->second.around};
    std::set<std::string> stacks;
    std::set<std::string> teams;
    std::size_t place = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].framework != framework.name) {
        continue;
      }
      if (!is_left_out[i]) {
        of_framework.rows.push_back(all->second.rows[place]);
        stacks.insert(rows_[i].run.stack);
        teams.insert(rows_[i].run.team);
      }
      ++place;
    }
    if (!of_framework.rows.empty()) {
      fit.frameworks.push_back({.framework = framework,
                                .rows = of_framework.rows.size(),
                                .stacks = {stacks.begin(), stacks.end()},
                                .teams = {teams.begin(), teams.end()}});
      rows.push_back(std::move(of_framework));
    }
  }
  const ScalarSolution solution = SolvePopulation(rows);
  fit.population = solution.population;
  for (std::size_t f = 0; f < rows.size(); ++f) {
    FrameworkFit& of_framework = fit.frameworks[f];
    of_framework.error_before = rows[f].MeanError(solution.mean);
    of_framework.error_after = rows[f].MeanError(solution.frameworks[f]);
    // Outliers count less in the fit than in the mean.
    const bool is_better = of_framework.error_after <= of_framework.error_before;
    SetScalars(is_better ? solution.frameworks[f] : solution.mean, of_framework.framework);
    of_framework.framework.is_fitted = true;
    of_framework.error_after = std::min(of_framework.error_before, of_framework.error_after);
  }
  return fit;
}

void FrameworkFitting::SimulateCalibration(const workload::RunTable& table) {
  std::map<std::string, std::vector<std::string>> ids_of_stack;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const RunLabel label = table.Label(row);
    if (const Result<PublishedRun> run = table.Read(row); IsJudged(label) && run && IsShort(*run)) {
      ids_of_stack[label.stack].push_back(label.id);
    }
  }
  std::set<std::string> chosen;
  for (auto& [stack, ids] : ids_of_stack) {
    for (std::string& id : SpreadEvenly(std::move(ids), options_.most_rows_of_calibration)) {
      chosen.insert(std::move(id));
    }
  }
  std::map<LeftOut, LeftOutModels> models;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    const RunLabel label = table.Label(row);
    if (chosen.contains(label.id)) {
      const LeftOut left_out{label.stack, label.team};
      if (!models.contains(left_out)) {
        models.emplace(left_out, ModelsWithout(left_out));
      }
    }
  }
  Tell(fmt::format("calibration: {} rows", chosen.size()));
  ValidateOptions asked;
  asked.engine = judging_engine_;
  asked.filter = [&](const RunLabel& label) { return chosen.contains(label.id); };
  asked.change = [&](const RunLabel& label, workload::Job& job) {
    job.mechanisms = options_.mechanisms;
    CopyScalarsNamed(models.at({label.stack, label.team}).frameworks, job.framework);
  };
  asked.collectives = [&](const RunLabel& label) {
    return &models.at({label.stack, label.team}).collectives;
  };
  for (const EvaluatedRun& evaluated : Validate(table, costs_, asked).evaluated) {
    const PublishedRun& run = evaluated.run;
    judged_.push_back(
        {.left_out = {run.stack, run.team},
         .framework = run.job.framework.name,
         .residual = {.stack = run.stack,
                      .traits = evaluated.traits,
                      .log_ratio = std::log(run.measured_s / evaluated.predicted_s)}});
  }
}

std::vector<StepResidual> FrameworkFitting::Residuals(const LeftOut& also_left_out) {
  if (judged_.empty()) {
    for (const workload::RunTable* const table : tables_) {
      SimulateCalibration(*table);
    }
  }
  std::map<std::pair<LeftOut, std::string>, ScalarVector> changed;  // scalars of frameworks
  std::vector<StepResidual> residuals;
  for (const Judged& judged : judged_) {
    if (also_left_out.Has(judged.left_out)) {
      continue;
    }
    residuals.push_back(judged.residual);
    if (also_left_out == LeftOut{}) {
      continue;
    }
    const Solved& own = SolvedWithout(judged.left_out);
    const std::array<LeftOut, 2> both{judged.left_out, also_left_out};
    const auto key = std::pair(judged.left_out, judged.framework);
    if (!changed.contains(key)) {
      changed[key] = ScalarsNamed(judged.framework, Solve(own.linear, RowsOf(both)));
    }
    residuals.back().log_ratio -=
        LogChange(judged.residual.traits, ScalarsNamed(judged.framework, own.fit), changed[key]);
  }
  return residuals;
}

void CopyScalarsNamed(const std::vector<Framework>& known, Framework& framework) {
  const auto found = std::ranges::find(known, framework.name, &Framework::name);
  if (found != known.end()) {
    workload::CopyScalars(*found, framework);
  }
}

std::vector<Framework> FrameworksOf(const PopulationFit& fit) {
  std::vector<Framework> frameworks = workload::Frameworks();
  for (Framework& framework : frameworks) {
    const auto found = std::ranges::find(
        fit.frameworks, OwnerOf(framework),
        [](const FrameworkFit& one) -> const std::string& { return one.framework.name; });
    workload::CopyScalars(found != fit.frameworks.end() ? found->framework : fit.population.mean,
                          framework);
  }
  return frameworks;
}

std::string FitsText(const PopulationFit& fit, const StepIntervals& intervals) {
  std::string text =
      "# Written by `orrery fit frameworks`: what frameworks reach of kernels and collectives "
      "alone, fitted to\n"
      "# published runs (docs/formats/framework.md has the meaning and the range of each scalar). "
      "A framework that\n"
      "# is not listed has the population's mean. Deviations are of logarithms; errors are mean "
      "absolute ones of the\n"
      "# rows used, with the population's mean and with the fit, in percent.\n";
  text += fmt::format("noise: {:.4f}\npopulation:\n", fit.population.noise);
  std::size_t place = 0;
  for (const FittedScalar& scalar : FittedScalars()) {
    text += fmt::format("  {}: {{mean: {:.4g}, deviation: {:.4g}}}\n", scalar.key,
                        fit.population.mean.*scalar.member, fit.population.deviation[place++]);
  }
  text += "fits:\n";
  for (const FrameworkFit& one : fit.frameworks) {
    text += fmt::format("  - framework: {}\n    rows: {}\n", one.framework.name, one.rows) +
            NamesText("stacks", one.stacks) + NamesText("teams", one.teams);
    text += fmt::format("    error_before: {:.1f}\n    error_after: {:.1f}\n",
                        100 * one.error_before, 100 * one.error_after);
    for (const FittedScalar& scalar : FittedScalars()) {
      text += fmt::format("    {}: {:.4g}\n", scalar.key, one.framework.*scalar.member);
    }
  }
  return text + IntervalsText(intervals);
}

}  // namespace orrery::calibrate
