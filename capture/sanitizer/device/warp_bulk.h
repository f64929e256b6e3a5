#pragma once

#include <cstdint>

#include "capture/sanitizer/device/find_slot.h"
#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/device/warp_access.h"

// Copies of whole blocks of 16 bytes, which a warp starts once: its lanes all say the same.

namespace orrery::capture {

struct BulkCopy {
  std::uint64_t pc;
  std::uint64_t address;  // on the side of global memory
  std::uint32_t blocks;
  std::uint32_t flags;
};

inline constexpr std::uint64_t kBulkBlockBytes = 16;

/// Marks from the first page to the last; what reaches beyond the object has no bits.
template <Warp W>
ORRERY_HOST_DEVICE void MarkBulkPages(W warp, const LaunchRecord& record, const SlotRange& range,
                                      std::uint64_t begin, std::uint64_t bytes) {
  PageBits pages;
  if (!FindPageBits(record, range.slot, pages)) {
    return;
  }
  const std::uint64_t end = bytes < range.end - begin ? begin + bytes : range.end;
  const std::uint64_t first_bit = pages.BitOf(begin);
  const auto num_pages = static_cast<std::uint32_t>(pages.BitOf(end - 1) - first_bit + 1);
  warp.ForJobs(num_pages, [&](std::uint32_t i) {
    const std::uint64_t bit = first_bit + i;
    if (!IsMarked<W>(pages, bit)) {
      W::Or(&pages.words[bit / 32], 1U << (bit % 32));
    }
  });
}

/// Charges a bulk copy as one lane of one access.
template <Warp W>
ORRERY_ASIDE void ChargeBulk(W warp, LaunchRecord& record, BulkCopy copy) {
  const std::uint64_t bytes = copy.blocks * kBulkBlockBytes;
  const SlotRange range = FindRange(warp, record, copy.address);
  if ((record.modes & kCountMode) != 0) {
    AddShare(warp, record, range.slot, copy.flags, {bytes, SectorsOfBytes(copy.address, bytes), 1});
  }
  if (range.slot == kUnknownSlot) {
    SampleUnknown(warp, record, copy.address);
  }
  MarkBulkPages(warp, record, range, copy.address, bytes);
}

}  // namespace orrery::capture
