#include "orrery/compat/echo/pairwise_sum.h"

#include <array>
#include <cstddef>

namespace orrery::compat::echo {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kBlock = 128;

double SumInOrder(std::span<const double> values, double sum) {
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

double SumOfBlock(std::span<const double> values) {
  std::array<double, kLanes> lanes{};
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = values[lane];
  }
  const std::size_t whole = values.size() - values.size() % kLanes;
  for (std::size_t begin = kLanes; begin < whole; begin += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += values[begin + lane];
    }
  }
  const double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                     ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  return SumInOrder(values.subspan(whole), sum);
}

}  // namespace

double PairwiseSum(std::span<const double> values) {
  if (values.size() < kLanes) {
    return SumInOrder(values, 0);
  }
  if (values.size() <= kBlock) {
    return SumOfBlock(values);
  }
  const std::size_t half = values.size() / 2 - values.size() / 2 % kLanes;
  return PairwiseSum(values.first(half)) + PairwiseSum(values.subspan(half));
}

double PairwiseMean(std::span<const double> values) {
  return PairwiseSum(values) / static_cast<double>(values.size());
}

}  // namespace orrery::compat::echo
