#include "orrery/memory/value_counts.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace orrery::memory {
namespace {

__extension__ using Sum = __int128;

// Distinct values in order, each with how often it comes.
using Counted = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The value at a position of all values, sorted.
double ValueAt(const Counted& counted, std::int64_t position) {
  for (const auto& [value, count] : counted) {
    if (position < count) {
      return static_cast<double>(value);
    }
    position -= count;
  }
  return static_cast<double>(counted.back().first);
}

double QuantileOf(const Counted& counted, std::int64_t num_values, double q) {
  const double position = q * static_cast<double>(num_values - 1);
  const auto below = static_cast<std::int64_t>(position);
  const double share = position - static_cast<double>(below);
  const double lower = ValueAt(counted, below);
  return share == 0 ? lower : lower + share * (ValueAt(counted, below + 1) - lower);
}

}  // namespace

BytesSpread ValueCounts::Spread() const {
  ValueCounts all = *this;
  all.CountLast();
  Counted counted(all.counts_.begin(), all.counts_.end());
  if (counted.empty()) {
    return {};
  }
  std::ranges::sort(counted);
  BytesSpread spread;
  Sum sum = 0;
  for (const auto& [value, count] : counted) {
    spread.count += count;
    sum += static_cast<Sum>(value) * count;
  }
  spread.smallest = static_cast<double>(counted.front().first);
  spread.mean = static_cast<double>(sum) / static_cast<double>(spread.count);
  spread.median = QuantileOf(counted, spread.count, 0.5);
  spread.p90 = QuantileOf(counted, spread.count, 0.9);
  spread.largest = static_cast<double>(counted.back().first);
  return spread;
}

}  // namespace orrery::memory
