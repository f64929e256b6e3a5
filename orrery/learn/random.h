#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/base/mix_bits.h"

namespace orrery::learn {

using orrery::MixBits;

/// Returns XXH64 of the text: a number that stays the same on every machine and in every version.
[[nodiscard]] std::uint64_t HashText(std::string_view text, std::uint64_t seed);

/// Returns a number from 0 to below 1 with the upper 53 bits of `bits`.
[[nodiscard]] double UnitInterval(std::uint64_t bits);

/// SplitMix64: the one random generator of this module. The same seed gives the same numbers on
/// every machine, which the distributions of the standard library do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next();

  /// Returns a number from 0 to below `limit`, which is above 0, without bias worth naming
  /// (limit / 2^64).
  std::size_t Below(std::size_t limit);

  double Uniform() { return UnitInterval(Next()); }

  /// Permutes by Fisher-Yates.
  template <typename T>
  void Shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[Below(left)]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace orrery::learn
