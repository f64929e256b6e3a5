#pragma once

#include <cstdint>

#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"

namespace orrery::capture {

/// Addresses [begin, end) that all belong to one slot. Also a gap between ranges is one, of the
/// unknown slot.
struct SlotRange {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint32_t slot;
};

ORRERY_HOST_DEVICE bool Holds(const SlotRange& range, std::uint64_t address) {
  return address - range.begin < range.end - range.begin;
}

/// Returns how many ranges begin at or before `address`. Halves without a jump on what it finds.
ORRERY_HOST_DEVICE std::uint32_t CountBegins(const Range* ranges, std::uint32_t num_ranges,
                                             std::uint64_t address) {
  std::uint32_t num_begun = 0;
  std::uint32_t open = num_ranges;
  ORRERY_KEEP_LOOP
  while (open != 0) {
    const std::uint32_t half = (open + 1) / 2;
    num_begun += ranges[num_begun + half - 1].begin <= address ? half : 0;
    open -= half;
  }
  return num_begun;
}

/// Returns the range or the gap around `address`, of which `num_begun` ranges begin at or before
/// it. The end is checked: a gap is unknown, not the object before it.
ORRERY_HOST_DEVICE SlotRange RangeAt(const Range* ranges, std::uint32_t num_ranges,
                                     std::uint32_t num_begun, std::uint64_t address) {
  std::uint64_t gap_begin = 0;
  if (num_begun != 0) {
    const Range before = ranges[num_begun - 1];
    if (address < before.end) {
      return {before.begin, before.end, num_begun};
    }
    gap_begin = before.end;
  }
  const std::uint64_t gap_end = num_begun < num_ranges ? ranges[num_begun].begin : UINT64_MAX;
  return {gap_begin, gap_end, kUnknownSlot};
}

/// Returns the slot of the range that holds `address`. `ranges` is sorted and disjoint.
ORRERY_HOST_DEVICE std::uint32_t FindSlot(const Range* ranges, std::uint32_t num_ranges,
                                          std::uint64_t address) {
  const std::uint32_t num_begun = CountBegins(ranges, num_ranges, address);
  return RangeAt(ranges, num_ranges, num_begun, address).slot;
}

/// Tries the hints of the launch. Returns whether one holds `address`.
ORRERY_HOST_DEVICE bool FindInHints(const LaunchRecord& record, std::uint64_t address,
                                    SlotRange& found) {
  ORRERY_KEEP_LOOP
  for (std::uint32_t i = 0; i < record.num_hints; ++i) {
    const Hint& hint = record.hints[i];
    found = {hint.begin, hint.end, hint.slot};
    if (Holds(found, address)) {
      return true;
    }
  }
  return false;
}

}  // namespace orrery::capture
