#include "orrery/calibrate/scalar_population.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Dense>

#include "orrery/workload/job/framework.h"

namespace orrery::calibrate {
namespace {

using workload::FittedScalar;
using workload::FittedScalars;
using workload::Framework;
using workload::kNumScalars;

constexpr double kOutlier =
    0.08;  // errors much above hardly count: what is wrong there is not a scalar
constexpr double kLeastNoise = 0.04;
constexpr int kIterations = 30;

using Vector = Eigen::Matrix<double, static_cast<int>(kNumScalars), 1>;
using Matrix = Eigen::Matrix<double, static_cast<int>(kNumScalars), static_cast<int>(kNumScalars)>;

/// The expectation of a scalar before any row is seen: the population's mean and its spread, and
/// the reach of a round of linearisation.
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

/// The weight of the prior of the population's spread, in frameworks.
constexpr double kPriorFrameworks = 2;

Vector AsVector(const ScalarVector& scalars) {
  return Eigen::Map<const Vector>(scalars.data());
}

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
  const Vector around = AsVector(rows.around);
  Matrix information = population.variance.cwiseInverse().asDiagonal();
  Vector target = information * population.mean;
  for (const LinearRow& row : rows.rows) {
    const Vector slopes = AsVector(row.slopes);
    const double residual = row.log_ratio + slopes.dot(previous - around);
    const double robust = 1 / (1 + residual * residual / (kOutlier * kOutlier));
    const double weight = row.weight * robust / (noise * noise);
    information += weight * slopes * slopes.transpose();
    target += weight * slopes * (slopes.dot(around) - row.log_ratio);
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

ScalarVector AsScalars(const Vector& vector) {
  ScalarVector scalars;
  Eigen::Map<Vector>(scalars.data()) = vector;
  return scalars;
}

double NoiseOf(std::span<const LinearRows> rows, const std::vector<Estimate>& frameworks) {
  double squares = 0;
  double weights = 0;
  for (std::size_t f = 0; f < rows.size(); ++f) {
    const ScalarVector scalars = AsScalars(frameworks[f].mean);
    for (const LinearRow& row : rows[f].rows) {
      const double residual = rows[f].Residual(row, scalars);
      const double held = residual * residual / (1 + residual * residual / (kOutlier * kOutlier));
      squares += row.weight * held;
      weights += row.weight;
    }
  }
  return std::max(kLeastNoise, weights > 0 ? std::sqrt(squares / weights) : 0);
}

struct Solution {
  Population population;
  std::vector<Estimate> frameworks = {};
  double noise = 0;
};

Solution SolveByEm(std::span<const LinearRows> rows) {
  constexpr double kFirstNoise = 0.08;
  Solution solution{.population = PriorPopulation(), .noise = kFirstNoise};
  for (const LinearRows& of_framework : rows) {
    solution.frameworks.push_back(
        {.mean = AsVector(of_framework.around), .covariance = Matrix::Zero()});
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
ScalarVector Limited(const Vector& scalars, const ScalarVector& around) {
  ScalarVector limited;
  std::size_t place = 0;
  for (const FittedScalar& scalar : FittedScalars()) {
    const auto at = static_cast<int>(place);
    const double reach = PriorOf(scalar).reach;
    const double value = std::clamp(scalars[at], around[place] - reach, around[place] + reach);
    limited[place++] = std::clamp(value, std::log(LeastOf(scalar)), std::log(scalar.most));
  }
  return limited;
}

}  // namespace

double LinearRows::Residual(const LinearRow& row, const ScalarVector& scalars) const {
  return row.log_ratio + AsVector(row.slopes).dot(AsVector(scalars) - AsVector(around));
}

double LinearRows::MeanError(const ScalarVector& scalars) const {
  double sum = 0;
  double sum_of_weights = 0;
  for (const LinearRow& row : rows) {
    sum += row.weight * std::abs(std::expm1(Residual(row, scalars)));
    sum_of_weights += row.weight;
  }
  return sum_of_weights > 0 ? sum / sum_of_weights : 0;
}

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

ScalarVector ExpectedScalars() {
  const ScalarVector mean = AsScalars(PriorPopulation().mean);
  return Limited(AsVector(mean), mean);
}

ScalarVector ScalarSteps() {
  ScalarVector steps;
  std::ranges::transform(FittedScalars(), steps.begin(),
                         [](const FittedScalar& scalar) { return PriorOf(scalar).step; });
  return steps;
}

ScalarSolution SolvePopulation(std::span<const LinearRows> frameworks) {
  const Solution found = SolveByEm(frameworks);
  ScalarSolution solution;
  solution.mean = Limited(found.population.mean, AsScalars(found.population.mean));
  solution.population = ShippedForm(found, solution.mean);
  for (std::size_t f = 0; f < frameworks.size(); ++f) {
    solution.frameworks.push_back(Limited(found.frameworks[f].mean, frameworks[f].around));
  }
  return solution;
}

}  // namespace orrery::calibrate
