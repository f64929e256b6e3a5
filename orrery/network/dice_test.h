#pragma once

#include <cstdint>

#include "orrery/base/math/mix_bits.h"

namespace orrery::network {

/// SplitMix64, so that generated cases are the same everywhere.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(MixBits(seed + 1)) {}

  std::uint64_t Below(std::uint64_t limit) {
    state_ += 0x9e3779b97f4a7c15;
    return MixBits(state_) % limit;
  }

 private:
  std::uint64_t state_;
};

}  // namespace orrery::network
