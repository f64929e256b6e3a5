#include "orrery/compat/echo/legacy_shuffle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace orrery::compat::echo {
namespace {

std::size_t DrawUpTo(std::size_t most, std::mt19937& bits) {
  const std::size_t mask = std::bit_ceil(most + 1) - 1;
  std::size_t drawn = bits() & mask;
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
    std::swap(order[left - 1], order[DrawUpTo(left - 1, bits)]);
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

}  // namespace orrery::compat::echo
