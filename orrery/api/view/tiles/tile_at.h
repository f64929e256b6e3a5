#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery::api::view {

/// A tile has so many bins of 2^level ns; tile i begins at i · kBins · 2^level after the run's
/// begin.
inline constexpr std::size_t kBins = 512;
inline constexpr int kMaxLevel = 52;  // a bin of 52 days

struct TileAt {
  int level = 0;
  std::int64_t tile = 0;

  [[nodiscard]] std::int64_t bin_ns() const { return std::int64_t{1} << level; }

  [[nodiscard]] std::int64_t begin_ns() const {
    return tile * static_cast<std::int64_t>(kBins) * bin_ns();
  }

  [[nodiscard]] std::int64_t end_ns() const {
    return begin_ns() + static_cast<std::int64_t>(kBins) * bin_ns();
  }
};

/// The last tile of a level that begins no later than 2^62 ns.
[[nodiscard]] constexpr std::int64_t LastTile(int level) {
  constexpr int kBinBits = 9;
  return level + kBinBits >= 62 ? 0 : (std::int64_t{1} << (62 - level - kBinBits)) - 1;
}

}  // namespace orrery::api::view
