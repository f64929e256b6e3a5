#pragma once

#include <cstdint>

#include "capture/sanitizer/device/find_slot.h"
#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"

// The work of a patch for one access of a warp: it finds the objects, adds to their counters and
// marks their pages. An access is charged to the object that holds its first byte.

// Copies of whole blocks of 16 bytes, which a warp starts once: its lanes all say the same.

namespace orrery::capture {

/// The properties that all lanes of an access share.
struct Access {
  std::uint64_t pc;
  std::uint32_t bytes;  // of each lane
  std::uint32_t flags;
};

/// Sums of one access that go to one slot.
struct SlotShare {
  std::uint64_t bytes;
  std::uint32_t sectors;
  std::uint32_t lanes;
};

inline constexpr std::uint32_t kSectorShift = 5;
inline constexpr std::uint32_t kAccessKinds = kReadFlag | kWriteFlag;

/// A prefetch is not an access.
ORRERY_HOST_DEVICE bool IsAccess(std::uint32_t flags) {
  return (flags & kAccessKinds) != 0 && (flags & kPrefetchFlag) == 0;
}

/// Sectors that the bytes [begin, begin + bytes) lie in; there is at least one byte.
ORRERY_HOST_DEVICE std::uint32_t SectorsOfBytes(std::uint64_t begin, std::uint64_t bytes) {
  return static_cast<std::uint32_t>(((begin + bytes - 1) >> kSectorShift) -
                                    (begin >> kSectorShift) + 1);
}

/// Says whether the set lanes of `mask`, which begin at lane `first`, are neighbours.
ORRERY_HOST_DEVICE bool IsRun(std::uint32_t mask, std::uint32_t first) {
  const std::uint32_t from_first = mask >> first;
  return (from_first & (from_first + 1)) == 0;
}

/// As CountBegins, by all lanes together: each tries one place, so that a thousand ranges take two
/// rounds of a full warp. One lane alone does a binary search.
template <Warp W>
ORRERY_ASIDE std::uint32_t CountBeginsTogether(W warp, const LaunchRecord& record,
                                               std::uint64_t address) {
  const Range* const ranges = record.ranges;
  const std::uint32_t shift = W::Highest(W::Count(warp.active()) + 1);
  std::uint32_t low = 0;
  std::uint32_t high = record.num_ranges;
  ORRERY_KEEP_LOOP
  while (low < high) {
    const std::uint32_t step = ((high - low) >> shift) + 1;
    const std::uint32_t begun = W::Count(warp.Vote([&](std::uint32_t lane, std::uint64_t) {
      const std::uint32_t place = low + (warp.RankOf(lane) + 1) * step - 1;
      return place < high && ranges[place].begin <= address;
    }));
    const std::uint32_t first_not_begun = low + (begun + 1) * step - 1;
    low += begun * step;
    high = first_not_begun < high ? first_not_begun : high;
  }
  return low;
}

template <Warp W>
ORRERY_HOST_DEVICE SlotRange FindRange(W warp, const LaunchRecord& record, std::uint64_t address) {
  SlotRange found;
  if (FindInHints(record, address, found)) {
    return found;
  }
  return RangeAt(record.ranges, record.num_ranges, CountBeginsTogether(warp, record, address),
                 address);
}

/// Returns the lanes that are the first in their sector.
template <Warp W>
ORRERY_ASIDE std::uint32_t SectorLeaders(W warp) {
  const LaneSteps steps = warp.Steps(kSectorShift);
  return steps.descents == 0 ? steps.changes : warp.FirstOfEach(kSectorShift);
}

/// Returns the number of distinct sectors, or 0 where they do not ascend from lane to lane.
template <Warp W>
ORRERY_HOST_DEVICE std::uint32_t CountAscendingSectors(W warp) {
  const LaneSteps steps = warp.Steps(kSectorShift);
  return steps.descents == 0 ? W::Count(steps.changes) : 0;
}

/// Says whether the active lanes are neighbours, from lane to lane and from byte to byte; `first`
/// is the address of the first.
template <Warp W>
ORRERY_HOST_DEVICE bool IsInLine(W warp, std::uint64_t first, std::uint32_t bytes) {
  const std::uint32_t first_lane = W::Lowest(warp.active());
  const std::uint32_t in_line = warp.Vote([&](std::uint32_t lane, std::uint64_t address) {
    return address == first + static_cast<std::uint64_t>(lane - first_lane) * bytes;
  });
  return in_line == warp.active() && IsRun(in_line, first_lane);
}

template <Warp W>
ORRERY_HOST_DEVICE SlotCounters& CountersOf(W warp, const LaunchRecord& record,
                                            std::uint32_t slot) {
  const std::uint64_t shard = warp.multiprocessor() & (record.num_shards - 1);
  return record.counters[shard * (record.num_ranges + 1) + slot];
}

/// The counters of a slot by number: bytes read, written, atomic, sectors, lanes and warps.
ORRERY_HOST_DEVICE std::uint64_t* CounterAt(SlotCounters& counters, std::uint32_t number) {
  static_assert(sizeof(SlotCounters) == 5 * sizeof(std::uint64_t));
  return reinterpret_cast<std::uint64_t*>(&counters) + number;
}

/// Returns the index of the byte counter that an access adds to.
ORRERY_HOST_DEVICE std::uint32_t KindOf(std::uint32_t flags) {
  return (flags & kAccessKinds) - kReadFlag;
}

/// Adds to three counters, each on a lane of its own: one instruction where three are active.
template <Warp W>
ORRERY_HOST_DEVICE void AddShare(W warp, const LaunchRecord& record, std::uint32_t slot,
                                 std::uint32_t flags, SlotShare share) {
  SlotCounters& counters = CountersOf(warp, record, slot);
  const std::uint32_t kind = KindOf(flags);
  warp.ForJobs(3, [&](std::uint32_t job) {
    const std::uint64_t amount = job == 0   ? share.bytes
                                 : job == 1 ? share.sectors
                                            : kOneWarp + share.lanes;
    W::Add(CounterAt(counters, job == 0 ? kind : job + 2), amount);
  });
}

/// Keeps a few addresses that no object owns, for the report.
template <Warp W>
ORRERY_ASIDE void SampleUnknown(W warp, LaunchRecord& record, std::uint64_t address) {
  if (W::Load(&record.num_unknown_samples) >= kMaxUnknownSamples) {
    return;
  }
  warp.Once([&] {
    const std::uint32_t place = W::FetchAdd(&record.num_unknown_samples, 1);
    if (place < kMaxUnknownSamples) {
      record.unknown_samples[place] = address;
    }
  });
}

/// The location of the bits of an object's pages.
struct PageBits {
  std::uint32_t* words;
  std::uint64_t first_bit;
  std::uint64_t first_page;
  std::uint32_t page_shift;

  ORRERY_HOST_DEVICE std::uint64_t BitOf(std::uint64_t address) const {
    return first_bit + ((address >> page_shift) - first_page);
  }
};

/// Returns whether pages of this slot are wanted.
ORRERY_HOST_DEVICE bool FindPageBits(const LaunchRecord& record, std::uint32_t slot,
                                     PageBits& pages) {
  if ((record.modes & kPageMode) == 0 || slot == kUnknownSlot) {
    return false;
  }
  const std::uint32_t first_bit = record.first_page_bit[slot - 1];
  pages = {record.page_bits, first_bit, record.ranges[slot - 1].begin >> record.page_shift,
           record.page_shift};
  return first_bit != kNoPages;
}

template <Warp W>
ORRERY_HOST_DEVICE bool IsMarked(const PageBits& pages, std::uint64_t bit) {
  return (W::Load(&pages.words[bit / 32]) >> (bit % 32) & 1U) != 0;
}

/// Marks the pages of these lanes, one atomic operation for each page that was not marked.
template <Warp W>
ORRERY_ASIDE void MarkPages(W warp, const LaunchRecord& record, std::uint32_t slot,
                            std::uint32_t lanes) {
  PageBits pages;
  if (!FindPageBits(record, slot, pages)) {
    return;
  }
  std::uint32_t unmarked = warp.Vote([&](std::uint32_t lane, std::uint64_t address) {
    return (lanes >> lane & 1U) != 0 && !IsMarked<W>(pages, pages.BitOf(address));
  });
  ORRERY_KEEP_LOOP
  while (unmarked != 0) {
    const std::uint64_t bit = pages.BitOf(warp.AddressOf(W::Lowest(unmarked)));
    warp.Once([&] { W::Or(&pages.words[bit / 32], 1U << (bit % 32)); });
    unmarked &= ~warp.Vote([&](std::uint32_t lane, std::uint64_t address) {
      return (lanes >> lane & 1U) != 0 && pages.BitOf(address) == bit;
    });
  }
}

/// Counts and marks for one slot.
template <Warp W>
ORRERY_HOST_DEVICE void ChargeSlot(W warp, LaunchRecord& record, Access access, std::uint32_t slot,
                                   std::uint32_t lanes, std::uint32_t sectors) {
  const std::uint32_t num_lanes = W::Count(lanes);
  if ((record.modes & kCountMode) != 0) {
    AddShare(warp, record, slot, access.flags,
             {static_cast<std::uint64_t>(num_lanes) * access.bytes, sectors, num_lanes});
  }
  if (slot == kUnknownSlot) {
    SampleUnknown(warp, record, warp.AddressOf(W::Lowest(lanes)));
  }
  MarkPages(warp, record, slot, lanes);
}

/// Charges an access of a warp to the objects that its lanes touch: one object after the other is
/// taken off. A sector that two objects share is counted for the object of its first lane. All that
/// is unknown is one share, in whatever gaps it lies.
template <Warp W>
ORRERY_ASIDE void ChargeAccess(W warp, LaunchRecord& record, Access access) {
  const std::uint32_t leaders = SectorLeaders(warp);
  std::uint32_t remaining = warp.active();
  std::uint32_t unknown = 0;
  ORRERY_KEEP_LOOP
  while (remaining != 0) {
    const std::uint32_t first_lane = W::Lowest(remaining);
    const SlotRange range = FindRange(warp, record, warp.AddressOf(first_lane));
    const std::uint32_t inside =
        warp.Vote([&](std::uint32_t, std::uint64_t address) { return Holds(range, address); });
    const std::uint32_t lanes = (inside | 1U << first_lane) & remaining;
    remaining &= ~lanes;
    if (range.slot == kUnknownSlot) {
      unknown |= lanes;
    } else {
      ChargeSlot(warp, record, access, range.slot, lanes, W::Count(leaders & lanes));
    }
  }
  if (unknown != 0) {
    ChargeSlot(warp, record, access, kUnknownSlot, unknown, W::Count(leaders & unknown));
  }
}

/// As ChargeAccess where all lanes are in one object that a hint names, and sectors ascend from
/// lane to lane. Returns false, with nothing done, where they are not. Most accesses are such, and
/// this needs no registers beyond a patch's own.
template <Warp W>
ORRERY_HOST_DEVICE bool ChargeUsualAccess(W warp, const LaunchRecord& record, Access access) {
  const std::uint32_t active = warp.active();
  const std::uint64_t first = warp.AddressOf(W::Lowest(active));
  SlotRange range;
  if (!FindInHints(record, first, range)) {
    return false;
  }
  if (warp.Vote([&](std::uint32_t, std::uint64_t address) { return Holds(range, address); }) !=
      active) {
    return false;
  }
  const std::uint32_t num_lanes = W::Count(active);
  const std::uint64_t bytes = static_cast<std::uint64_t>(num_lanes) * access.bytes;
  const std::uint32_t sectors = IsInLine(warp, first, access.bytes) ? SectorsOfBytes(first, bytes)
                                                                    : CountAscendingSectors(warp);
  if (sectors == 0) {
    return false;
  }
  AddShare(warp, record, range.slot, access.flags, {bytes, sectors, num_lanes});
  if ((record.modes & kPageMode) != 0) {
    MarkPages(warp, record, range.slot, active);
  }
  return true;
}

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
