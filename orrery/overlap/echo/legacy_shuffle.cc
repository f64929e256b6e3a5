#include "orrery/overlap/echo/legacy_shuffle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace orrery::overlap::echo {
namespace {

std::uint32_t DrawUpTo(std::uint32_t most, std::mt19937& bits) {
  const std::uint32_t mask = std::bit_ceil(std::uint64_t{most} + 1) - 1;
  std::uint32_t drawn = bits() & mask;
  while (drawn > most) {
    drawn = bits() & mask;
  }
  return drawn;
}

}  // namespace

std::vector<std::uint32_t> LegacyPermutation(std::size_t count, std::uint32_t seed) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937 bits(seed);
  for (std::size_t left = count; left > 1; --left) {
    const std::uint32_t other = DrawUpTo(static_cast<std::uint32_t>(left - 1), bits);
    std::swap(order[left - 1], order[other]);
  }
  return order;
}

LegacySplit SplitAsScikitLearn(std::size_t count, double test_share, std::uint32_t seed) {
  const std::vector<std::uint32_t> order = LegacyPermutation(count, seed);
  const auto num_test =
      static_cast<std::ptrdiff_t>(std::ceil(static_cast<double>(count) * test_share));
  LegacySplit split{.train = {order.begin() + num_test, order.end()},
                    .test = {order.begin(), order.begin() + num_test}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.test);
  return split;
}

}  // namespace orrery::overlap::echo
