#pragma once

#include <cstddef>
#include <cstdint>

#include <tsl/robin_map.h>

namespace orrery::memory {

/// How values are spread. Percentiles interpolate linearly between the sorted values at position
/// q * (n - 1), as NumPy does. Without values all is zero.
struct BytesSpread {
  std::int64_t count = 0;
  double smallest = 0;
  double mean = 0;
  double median = 0;
  double p90 = 0;
  double largest = 0;

  bool operator==(const BytesSpread&) const = default;
};

/// Values that come many times each, as those of the launches of a training loop do: memory is that
/// of the different ones, and the spread is exact. The order in which they come does not matter.
class ValueCounts {
 public:
  void Add(std::int64_t value) {
    if (value != last_) {
      CountLast();
      last_ = value;
    }
    ++num_last_;
  }

  [[nodiscard]] BytesSpread Spread() const;

 private:
  // Sizes are multiples of large powers of two; the table looks at the low bits.
  struct Hash {
    std::size_t operator()(std::int64_t value) const {
      const std::uint64_t mixed = static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15U;
      return mixed ^ (mixed >> 32U);
    }
  };

  void CountLast() {
    if (num_last_ > 0) {
      counts_[last_] += num_last_;
      num_last_ = 0;
    }
  }

  tsl::robin_map<std::int64_t, std::int64_t, Hash> counts_;
  // Neighbours are often equal: they are counted here first.
  std::int64_t last_ = 0;
  std::int64_t num_last_ = 0;
};

}  // namespace orrery::memory
