#include "orrery/learn/quantile_regression.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Dense>

#include "orrery/base/check.h"

namespace orrery::learn {
namespace {

constexpr double kCorner = 0.02;     // width over which the loss is rounded
constexpr double kShrinkage = 1e-3;  // decides where rows do not
constexpr int kIterations = 1'500;

/// The rows as matrices, their weights summing up to 1.
struct Problem {
  Eigen::MatrixXd values;
  Eigen::VectorXd targets;
  Eigen::VectorXd weights;
};

Problem ProblemOf(std::span<const QuantileRow> rows) {
  const auto count = static_cast<Eigen::Index>(rows.size());
  const auto width = static_cast<Eigen::Index>(rows.front().values.size());
  Problem problem{.values = {count, width}, .targets = {}, .weights = {}};
  problem.targets.resize(count);
  problem.weights.resize(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const QuantileRow& row = rows[static_cast<std::size_t>(i)];
    problem.values.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.values.data(), width);
    problem.targets[i] = row.target;
    problem.weights[i] = row.weight;
  }
  problem.weights /= problem.weights.sum();
  return problem;
}

Eigen::VectorXd Gradient(const Problem& problem, double level, const Eigen::VectorXd& at) {
  const Eigen::ArrayXd beyond = (problem.targets - problem.values * at).array() / kCorner;
  const Eigen::ArrayXd slope = beyond.min(level).max(level - 1);
  return kShrinkage * at - problem.values.transpose() * (slope * problem.weights.array()).matrix();
}

}  // namespace

// Accelerated projected gradients (Beck and Teboulle 2009): the loss is convex and its gradient is
// Lipschitz with the constant below.
std::vector<double> FitQuantile(std::span<const QuantileRow> rows, double level) {
  ORRERY_CHECK(!rows.empty(), "a quantile is of rows");
  const Problem problem = ProblemOf(rows);
  const double lipschitz =
      problem.values.rowwise().squaredNorm().dot(problem.weights) / kCorner + kShrinkage;
  Eigen::VectorXd found = Eigen::VectorXd::Zero(problem.values.cols());
  Eigen::VectorXd ahead = found;
  double momentum = 1;
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    const Eigen::VectorXd next =
        (ahead - Gradient(problem, level, ahead) / lipschitz).cwiseMax(0.0);
    const double next_momentum = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    ahead = next + (momentum - 1) / next_momentum * (next - found);
    found = next;
    momentum = next_momentum;
  }
  return {found.begin(), found.end()};
}

double WeightedQuantile(std::vector<WeightedValue> values, double share) {
  ORRERY_CHECK(!values.empty(), "a quantile is of values");
  std::ranges::sort(values, {}, &WeightedValue::value);
  double sum = 0;
  for (const WeightedValue& one : values) {
    sum += one.weight;
  }
  double below = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double middle = (below + values[i].weight / 2) / sum;
    if (middle >= share) {
      if (i == 0) {
        return values[0].value;
      }
      const double before = (below - values[i - 1].weight / 2) / sum;
      const double part = (share - before) / (middle - before);
      return values[i - 1].value + part * (values[i].value - values[i - 1].value);
    }
    below += values[i].weight;
  }
  return values.back().value;
}

}  // namespace orrery::learn
