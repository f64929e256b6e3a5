#include "orrery/simulate/framework_fit.h"

#include <algorithm>
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

#include <Eigen/Dense>
#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/json_text.h"
#include "orrery/base/parallel.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/simulation.h"
#include "orrery/simulate/validation.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/published_run.h"
#include "orrery/workload/job/run_table.h"
#include "orrery/workload/model/model.h"

namespace orrery::simulate {
namespace {

using workload::FittedScalar;
using workload::FittedScalars;
using workload::Framework;
using workload::kNumScalars;
using workload::PublishedRun;

constexpr double kPicoseconds = 1e12;
constexpr double kLeastUtilisation = 10;  // percent
// Passes of one step through all blocks: longer runs say no more, and take the time of many.
constexpr std::int64_t kMostBlockPasses = 6'000;
/// What all rows of one team together are worth, in independent rows.
constexpr double kRowsOfTeam = 48;
constexpr double kOutlier =
    0.08;  // errors much above hardly count: what is wrong there is not a scalar
constexpr double kLeastNoise = 0.04;
constexpr int kIterations = 30;

using Vector = Eigen::Matrix<double, static_cast<int>(kNumScalars), 1>;
using Matrix = Eigen::Matrix<double, static_cast<int>(kNumScalars), static_cast<int>(kNumScalars)>;

/// What is expected of a scalar before any row is seen: the population's mean and its spread, and
/// how far a round of linearisation reaches.
struct Prior {
  double mean = 0;
  double mean_deviation = 0.1;
  double spread = 0.08;
  double reach = 0.2;
  double step = 0.05;  // of finite differences
};

Prior PriorOf(const FittedScalar& scalar) {
  if (scalar.key == "launch_us") {
    return {std::log(12.0), 0.6, 0.4, 0.7, 0.25};
  }
  if (scalar.key == "spread") {
    return {std::log(0.006), 0.8, 0.6, 1, 0.5};
  }
  return {std::log(0.95), 0.1, 0.12, 0.2, 0.05};
}

/// Logarithms need more than nothing: no launch takes less, no ranks are as equal.
double LeastOf(const FittedScalar& scalar) {
  constexpr double kShortestLaunch = 0.5;  // µs
  constexpr double kLeastSpread = 0.0002;
  return std::max(scalar.least, scalar.key == "launch_us" ? kShortestLaunch : kLeastSpread);
}

/// What the population's spread is worth before any framework is seen, in frameworks.
constexpr double kPriorFrameworks = 2;

bool IsUsable(const PublishedRun& run) {
  const workload::Transformer* const model = run.job.model.transformer();
  const std::int64_t block_passes =
      model == nullptr ? 0 : run.job.microbatches() * model->num_blocks();
  return block_passes <= kMostBlockPasses &&
         (!run.mfu_percent || *run.mfu_percent > kLeastUtilisation) &&
         run.job.plan.tp <= run.job.cluster.gpus_per_node;
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

Vector AsVector(const ScalarVector& scalars) {
  return Eigen::Map<const Vector>(scalars.data());
}

/// The rows of one framework as a linear least-squares problem.
struct LinearRows {
  Vector around;  // the scalars that ratios and slopes are of
  std::vector<Vector> slopes = {};
  std::vector<double> log_ratios = {};
  std::vector<double> weights = {};

  [[nodiscard]] double Residual(std::size_t i, const Vector& scalars) const {
    return log_ratios[i] + slopes[i].dot(scalars - around);
  }

  /// Of all rows, relative.
  [[nodiscard]] double MeanError(const ScalarVector& scalars) const {
    double sum = 0;
    double sum_of_weights = 0;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      sum += weights[i] * std::abs(std::expm1(Residual(i, AsVector(scalars))));
      sum_of_weights += weights[i];
    }
    return sum_of_weights > 0 ? sum / sum_of_weights : 0;
  }
};

struct Population {
  Vector mean;
  Vector variance;
};

/// A framework's scalars given the population.
struct Estimate {
  Vector mean;
  Matrix covariance;
};

Estimate EstimateOf(const LinearRows& rows, const Population& population, double noise,
                    const Vector& previous) {
  Matrix information = population.variance.cwiseInverse().asDiagonal();
  Vector target = information * population.mean;
  for (std::size_t i = 0; i < rows.slopes.size(); ++i) {
    const double residual = rows.Residual(i, previous);
    const double robust = 1 / (1 + residual * residual / (kOutlier * kOutlier));
    const double weight = rows.weights[i] * robust / (noise * noise);
    information += weight * rows.slopes[i] * rows.slopes[i].transpose();
    target += weight * rows.slopes[i] * (rows.slopes[i].dot(rows.around) - rows.log_ratios[i]);
  }
  Estimate estimate;
  estimate.covariance = information.inverse();
  estimate.mean = estimate.covariance * target;
  return estimate;
}

Population PriorPopulation() {
  Population population;
  int place = 0;
  for (const FittedScalar& scalar : FittedScalars()) {
    const Prior prior = PriorOf(scalar);
    population.mean[place] = prior.mean;
    population.variance[place++] = prior.spread * prior.spread;
  }
  return population;
}

/// The step of EM: mean and spread of frameworks, each held by what was expected of it.
Population PopulationOf(const std::vector<Estimate>& frameworks, const Population& previous) {
  Population population = previous;
  const auto count = static_cast<double>(frameworks.size());
  int place = 0;
  for (const FittedScalar& scalar : FittedScalars()) {
    const Prior prior = PriorOf(scalar);
    double sum = 0;
    for (const Estimate& framework : frameworks) {
      sum += framework.mean[place];
    }
    const double weight = previous.variance[place] / (prior.mean_deviation * prior.mean_deviation);
    population.mean[place] = (sum + weight * prior.mean) / (count + weight);
    double squares = kPriorFrameworks * prior.spread * prior.spread;
    for (const Estimate& framework : frameworks) {
      const double distance = framework.mean[place] - population.mean[place];
      squares += distance * distance + framework.covariance(place, place);
    }
    population.variance[place] = squares / (count + kPriorFrameworks);
    ++place;
  }
  return population;
}

double NoiseOf(const std::vector<LinearRows>& rows, const std::vector<Estimate>& frameworks) {
  double squares = 0;
  double weights = 0;
  for (std::size_t f = 0; f < rows.size(); ++f) {
    for (std::size_t i = 0; i < rows[f].slopes.size(); ++i) {
      const double residual = rows[f].Residual(i, frameworks[f].mean);
      const double held = residual * residual / (1 + residual * residual / (kOutlier * kOutlier));
      squares += rows[f].weights[i] * held;
      weights += rows[f].weights[i];
    }
  }
  return std::max(kLeastNoise, weights > 0 ? std::sqrt(squares / weights) : 0);
}

struct Solution {
  Population population;
  std::vector<Estimate> frameworks = {};
  double noise = 0;
};

Solution SolveByEm(const std::vector<LinearRows>& rows) {
  constexpr double kFirstNoise = 0.08;
  Solution solution{.population = PriorPopulation(), .noise = kFirstNoise};
  for (const LinearRows& of_framework : rows) {
    solution.frameworks.push_back({.mean = of_framework.around, .covariance = Matrix::Zero()});
  }
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    for (std::size_t f = 0; f < rows.size(); ++f) {
      Estimate& estimate = solution.frameworks[f];
      estimate = EstimateOf(rows[f], solution.population, solution.noise, estimate.mean);
    }
    solution.population = PopulationOf(solution.frameworks, solution.population);
    solution.noise = NoiseOf(rows, solution.frameworks);
  }
  return solution;
}

workload::ScalarPopulation ShippedForm(const Solution& solution, const ScalarVector& mean) {
  workload::ScalarPopulation population;
  SetScalars(mean, population.mean);
  population.noise = solution.noise;
  int place = 0;
  for (double& deviation : population.deviation) {
    deviation = std::sqrt(solution.population.variance[place++]);
  }
  return population;
}

/// Keeps scalars where the linear model holds, and within what is plausible.
ScalarVector Limited(const Vector& scalars, const Vector& around) {
  ScalarVector limited;
  std::size_t place = 0;
  for (const FittedScalar& scalar : FittedScalars()) {
    const auto at = static_cast<int>(place);
    const double reach = PriorOf(scalar).reach;
    const double value = std::clamp(scalars[at], around[at] - reach, around[at] + reach);
    limited[place++] = std::clamp(value, std::log(LeastOf(scalar)), std::log(scalar.most));
  }
  return limited;
}

}  // namespace

ScalarVector ScalarsOf(const Framework& framework) {
  ScalarVector scalars;
  std::size_t place = 0;
  for (const FittedScalar& scalar : FittedScalars()) {
    scalars[place++] = std::log(std::clamp(framework.*scalar.member, LeastOf(scalar), scalar.most));
  }
  return scalars;
}

void SetScalars(const ScalarVector& scalars, Framework& framework) {
  std::size_t place = 0;
  for (const FittedScalar& scalar : FittedScalars()) {
    framework.*scalar.member = std::clamp(std::exp(scalars[place++]), LeastOf(scalar), scalar.most);
  }
}

FrameworkFitting::FrameworkFitting(std::span<const workload::RunTable* const> tables,
                                   const kernel::CostModel& costs,
                                   const FrameworkFitOptions& options)
    : costs_(costs), options_(options) {
  options_.engine.network.model = NetworkModel::kAlone;
  // Not from the shipped ones, so that the same tables always give the same file.
  const ScalarVector start = Limited(PriorPopulation().mean, PriorPopulation().mean);
  for (const Framework& framework : workload::Frameworks()) {
    scalars_[framework.name] = start;
  }
  ReadRows(tables);
}

// As validation describes them, with what it chooses for what a row leaves open.
void FrameworkFitting::ReadRows(std::span<const workload::RunTable* const> tables) {
  ValidateOptions asked;
  asked.engine = options_.engine;
  asked.change = [&](const workload::RunLabel&, workload::Job& job) {
    job.mechanisms = options_.mechanisms;
  };
  std::map<std::string, std::map<std::string, std::vector<Row>>> rows;  // by team and release
  for (const workload::RunTable* const table : tables) {
    // Which rows of a release are read is decided before they are simulated.
    std::map<std::pair<std::string, std::string>, std::vector<std::string>> ids;
    for (std::size_t row = 0; row < table->num_rows(); ++row) {
      const workload::RunLabel label = table->Label(row);
      const bool is_good = label.grade.empty() || label.grade == "A" || label.grade == "A-";
      if (const Result<PublishedRun> run = table->Read(row); is_good && run && IsUsable(*run)) {
        ids[{label.team, label.release}].push_back(label.id);
      }
    }
    std::set<std::string> chosen;
    for (auto& [key, of_release] : ids) {
      for (std::string& id : SpreadEvenly(std::move(of_release), options_.most_rows_of_release)) {
        chosen.insert(std::move(id));
      }
    }
    asked.filter = [&](const workload::RunLabel& label) { return chosen.contains(label.id); };
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

void FrameworkFitting::Linearise() {
  ParallelFor(rows_.size(), 0, [&](std::size_t i) {
    Row& row = rows_[i];
    const ScalarVector& around = scalars_.at(row.framework);
    row.log_ratio = LogRatio(row, around);
    std::size_t place = 0;
    for (const FittedScalar& scalar : FittedScalars()) {
      const double step = PriorOf(scalar).step;
      ScalarVector moved = around;
      moved[place] += step;
      row.slopes[place++] = (LogRatio(row, moved) - row.log_ratio) / step;
    }
  });
}

void FrameworkFitting::Run() {
  for (int round = 0; round < options_.rounds; ++round) {
    if (options_.progress) {
      options_.progress(
          fmt::format("round {} of {}: {} rows", round + 1, options_.rounds, rows_.size()));
    }
    Linearise();
    const std::vector<Framework> frameworks = FrameworksOf(Solve());
    // The last simulations stay what later solutions are linear around.
    if (round + 1 < options_.rounds) {
      for (const Framework& framework : frameworks) {
        scalars_[framework.name] = ScalarsOf(framework);
      }
    }
  }
}

PopulationFit FrameworkFitting::Solve(const std::string& without_team) const {
  std::vector<LinearRows> rows;
  PopulationFit fit;
  for (const Framework& framework : workload::Frameworks()) {
    LinearRows of_framework{.around = AsVector(scalars_.at(framework.name))};
    std::set<std::string> teams;
    for (const Row& row : rows_) {
      if (row.framework == framework.name && row.run.team != without_team) {
        of_framework.slopes.push_back(AsVector(row.slopes));
        of_framework.log_ratios.push_back(row.log_ratio);
        of_framework.weights.push_back(row.weight);
        teams.insert(row.run.team);
      }
    }
    if (!of_framework.slopes.empty()) {
      fit.frameworks.push_back({.framework = framework,
                                .rows = of_framework.slopes.size(),
                                .teams = {teams.begin(), teams.end()}});
      rows.push_back(std::move(of_framework));
    }
  }
  const Solution solution = SolveByEm(rows);
  const ScalarVector mean = Limited(solution.population.mean, solution.population.mean);
  fit.population = ShippedForm(solution, mean);
  for (std::size_t f = 0; f < rows.size(); ++f) {
    FrameworkFit& of_framework = fit.frameworks[f];
    const ScalarVector scalars = Limited(solution.frameworks[f].mean, rows[f].around);
    of_framework.error_before = rows[f].MeanError(mean);
    of_framework.error_after = rows[f].MeanError(scalars);
    // Outliers count less in the fit than in the mean.
    const bool is_better = of_framework.error_after <= of_framework.error_before;
    SetScalars(is_better ? scalars : mean, of_framework.framework);
    of_framework.framework.is_fitted = true;
    of_framework.error_after = std::min(of_framework.error_before, of_framework.error_after);
  }
  return fit;
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

std::string FitsText(const PopulationFit& fit) {
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
    text +=
        fmt::format("  - framework: {}\n    rows: {}\n    teams:\n", one.framework.name, one.rows);
    for (const std::string& team : one.teams) {
      text += fmt::format("      - {}\n", QuoteJson(team));
    }
    text += fmt::format("    error_before: {:.1f}\n    error_after: {:.1f}\n",
                        100 * one.error_before, 100 * one.error_after);
    for (const FittedScalar& scalar : FittedScalars()) {
      text += fmt::format("    {}: {:.4g}\n", scalar.key, one.framework.*scalar.member);
    }
  }
  return text;
}

}  // namespace orrery::simulate
