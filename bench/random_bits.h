#pragma once

#include <cstdint>

namespace orrery::bench {

inline constexpr std::uint64_t kRandomIncrement = 0x9e3779b97f4a7c15;

/// Scatters the bits of a counter or key (the finaliser of SplitMix64); the same on every machine.
[[nodiscard]] constexpr std::uint64_t MixBits(std::uint64_t key) {
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
  key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
  return key ^ (key >> 31);
}

}  // namespace orrery::bench
