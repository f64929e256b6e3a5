#include "orrery/base/math/offset_graph.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {
namespace {

using Vector = std::vector<double>;

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

void AddScaled(Vector& target, double factor, const Vector& direction) {
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] += factor * direction[i];
  }
}

Vector TimesLaplacian(std::span<const MeasuredDifference> measured, const Vector& values) {
  Vector product(values.size(), 0.0);
  for (const MeasuredDifference& edge : measured) {
    const double flow = edge.weight * (values[edge.first] - values[edge.second]);
    product[edge.first] += flow;
    product[edge.second] -= flow;
  }
  return product;
}

Vector RightHandSide(std::uint32_t num_values, std::span<const MeasuredDifference> measured) {
  Vector side(num_values, 0.0);
  for (const MeasuredDifference& edge : measured) {
    side[edge.first] += edge.weight * edge.difference;
    side[edge.second] -= edge.weight * edge.difference;
  }
  return side;
}

}  // namespace

// Every direction is a sum of Laplacian products, so the mean of each part stays at 0.
std::vector<double> SolveDifferences(std::uint32_t num_values,
                                     std::span<const MeasuredDifference> measured) {
  constexpr double kSmallEnough = 1e-24;  // of the squared residual
  Vector values(num_values, 0.0);
  Vector residual = RightHandSide(num_values, measured);
  Vector direction = residual;
  double norm = Dot(residual, residual);
  const double goal = kSmallEnough * norm;
  for (std::size_t round = 0; round < 4 * static_cast<std::size_t>(num_values) && norm > goal;
       ++round) {
    const Vector product = TimesLaplacian(measured, direction);
    const double step = norm / Dot(direction, product);
    AddScaled(values, step, direction);
    AddScaled(residual, -step, product);
    const double next_norm = Dot(residual, residual);
    const double share = next_norm / norm;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = residual[i] + share * direction[i];
    }
    norm = next_norm;
  }
  return values;
}

}  // namespace orrery
