#include "capture/sanitizer/analysis/distinct_sectors.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "capture/sanitizer/device/warp_access.h"

namespace orrery::capture {
namespace {

/// Sectors seen so far, for one warp: half full at most.
class SectorSet {
 public:
  /// Returns whether the sector is new.
  bool Insert(std::uint64_t sector) {
    const std::uint64_t key = sector + 1;  // 0 is an empty place
    std::size_t place = sector * kSpread >> kShift;
    while (keys_[place] != 0 && keys_[place] != key) {
      place = (place + 1) % kPlaces;
    }
    const bool is_new = keys_[place] == 0;
    keys_[place] = key;
    return is_new;
  }

 private:
  static constexpr std::size_t kPlaces = 64;
  static constexpr int kShift = 58;
  static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;

  std::array<std::uint64_t, kPlaces> keys_{};
};

/// Returns what differs from the address before; says in `ascends` whether that is the answer.
std::uint32_t Changes(std::span<const std::uint64_t> addresses, bool& ascends) {
  std::uint32_t changes = 1;
  std::uint32_t descents = 0;
  for (std::size_t i = 1; i < addresses.size(); ++i) {
    const std::uint64_t before = addresses[i - 1] >> kSectorShift;
    const std::uint64_t own = addresses[i] >> kSectorShift;
    changes |= static_cast<std::uint32_t>(own != before) << i;
    descents |= static_cast<std::uint32_t>(own < before);
  }
  ascends = descents == 0;
  return changes;
}

}  // namespace

std::uint32_t FirstInSectors(std::span<const std::uint64_t> addresses) {
  bool ascends = false;
  const std::uint32_t changes = Changes(addresses, ascends);
  if (ascends) {
    return changes;
  }
  SectorSet sectors;
  std::uint32_t first = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    first |= static_cast<std::uint32_t>(sectors.Insert(addresses[i] >> kSectorShift)) << i;
  }
  return first;
}

}  // namespace orrery::capture
