#pragma once

#include <cstdint>

#include "orrery/base/math/mix_bits.h"

namespace orrery::simulate {

/// Makes a number above 0 and at most 1 of random bits.
[[nodiscard]] inline double Uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
}

/// The random bits of (seed, run, number): a hash, so that no draw depends on another one.
[[nodiscard]] inline std::uint64_t DrawBits(std::uint64_t seed, std::uint64_t run,
                                            std::uint64_t number) {
  return MixBits(MixBits(MixBits(seed + 1) + run + 1) + number + 1);
}

}  // namespace orrery::simulate
