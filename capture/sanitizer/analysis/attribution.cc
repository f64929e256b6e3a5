#include "capture/sanitizer/analysis/attribution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "capture/sanitizer/device/find_slot.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/device/warp_access.h"
#include "capture/sanitizer/device/warp_stream.h"

namespace orrery::capture {
namespace {

void Unpack(const AccessCell& cell, StreamedAccess& access) {
  access.address = cell.address;
  access.active = cell.active;
  access.stride = cell.stride;
  access.bytes = cell.packed & 0xffU;
  access.flags = cell.packed >> 8U & 0xffU & ~kPlaceFlag;
  access.has_place = (cell.packed >> 8U & kPlaceFlag) != 0;
  access.pc = cell.packed >> 16U;
  access.launch = cell.launch;
}

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

// Returns, as bits, which addresses are the first in their 32-byte sector. At most 32 addresses.
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

std::uint32_t FirstLane(std::uint32_t mask) {
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}

std::uint32_t NumLanes(std::uint32_t mask) {
  return static_cast<std::uint32_t>(std::popcount(mask));
}

/// Addresses of active lanes, one after the other.
struct LaneList {
  std::array<std::uint64_t, kNumLanes> addresses;
  std::size_t size = 0;

  [[nodiscard]] std::span<const std::uint64_t> view() const { return {addresses.data(), size}; }
};

LaneList ActiveLanes(const StreamedAccess& access) {
  LaneList lanes;
  for (std::uint32_t rest = access.active; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = FirstLane(rest);
    lanes.addresses[lanes.size++] = access.stride == kGeneralStride
                                        ? access.addresses[lane]
                                        : AffineAddress(access.address, access.stride, lane);
  }
  return lanes;
}

/// The lowest and the highest address of a warp.
struct Extent {
  std::uint64_t lowest;
  std::uint64_t highest;
};

Extent AffineExtent(const StreamedAccess& access) {
  const auto last_lane = static_cast<std::uint32_t>(31 - std::countl_zero(access.active));
  const std::uint64_t first =
      AffineAddress(access.address, access.stride, FirstLane(access.active));
  const std::uint64_t last = AffineAddress(access.address, access.stride, last_lane);
  return {std::min(first, last), std::max(first, last)};
}

Extent ExtentOf(std::span<const std::uint64_t> lanes) {
  Extent extent{lanes[0], lanes[0]};
  for (const std::uint64_t address : lanes) {
    extent.lowest = std::min(extent.lowest, address);
    extent.highest = std::max(extent.highest, address);
  }
  return extent;
}

/// Steps of less than a unit leave none out between the ends; `shift` is the unit's.
bool LeavesNoneOut(const StreamedAccess& access, std::uint32_t shift) {
  const std::int64_t unit = std::int64_t{1} << shift;
  return access.stride < unit && access.stride > -unit &&
         IsRun(access.active, FirstLane(access.active));
}

std::uint32_t AffineSectors(const StreamedAccess& access, Extent extent) {
  if (LeavesNoneOut(access, kSectorShift)) {
    return static_cast<std::uint32_t>((extent.highest >> kSectorShift) -
                                      (extent.lowest >> kSectorShift) + 1);
  }
  if (access.stride >= 1 << kSectorShift || access.stride <= -(1 << kSectorShift)) {
    return NumLanes(access.active);
  }
  return NumLanes(FirstInSectors(ActiveLanes(access).view()));
}

}  // namespace

bool RingReader::Next(StreamedAccess& access) {
  const AccessCell& cell = CellAt(*ring_, position_);
  if (__atomic_load_n(&cell.turn, __ATOMIC_ACQUIRE) != TurnAt(*ring_, position_)) {
    return false;
  }
  Unpack(cell, access);
  const bool is_general = access.stride == kGeneralStride;
  for (std::uint32_t rest = is_general ? access.active : 0; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    access.addresses[lane] = *LaneAddress(*ring_, position_, lane);
  }
  const std::uint32_t num_cells = CellsOf(is_general, access.has_place);
  const PlaceCell none{};
  const PlaceCell& place = access.has_place ? PlaceIn(*ring_, position_, num_cells) : none;
  access.block = place.block;
  access.warp = place.warp;
  Release(num_cells);
  return true;
}

// Turns are wiped: an address that was in the cell could look like the turn of its next use.
void RingReader::Release(std::uint32_t num_cells) {
  for (std::uint32_t i = 0; i < num_cells; ++i) {
    CellAt(*ring_, position_ + i).turn = 0;
  }
  position_ += num_cells;
  __atomic_store_n(ring_->tail, position_, __ATOMIC_RELEASE);
}

Attribution::Attribution(RangeTable table)
    : table_(std::move(table)),
      counters_(table_.ranges.size() + 1),
      last_apart_(table_.ranges.size() + 1),
      page_bits_((table_.num_page_bits + 31) / 32) {}

void Attribution::Add(const StreamedAccess& access) {
  if ((access.flags & kBulkFlag) != 0) {
    AddBulk(access);
    return;
  }
  const bool is_affine = access.stride != kGeneralStride;
  const LaneList lanes = is_affine ? LaneList{} : ActiveLanes(access);
  const Extent extent = is_affine ? AffineExtent(access) : ExtentOf(lanes.view());
  const SlotRange& range = RangeOf(access.pc, extent.lowest);
  if (!Holds(range, extent.highest)) {
    AddApart(access, is_affine ? ActiveLanes(access).view() : lanes.view());
    return;
  }
  const std::uint32_t sectors =
      is_affine ? AffineSectors(access, extent) : NumLanes(FirstInSectors(lanes.view()));
  const std::uint32_t num_lanes = NumLanes(access.active);
  AddShare(range.slot, access.flags,
           {static_cast<std::uint64_t>(num_lanes) * access.bytes, sectors, num_lanes});
  if (range.slot == kUnknownSlot) {
    SampleUnknown(is_affine ? AffineAddress(access.address, access.stride, FirstLane(access.active))
                            : lanes.addresses[0]);
  } else if (WantsPages(range.slot)) {
    if (is_affine && LeavesNoneOut(access, table_.page_shift)) {
      MarkPagesBetween(range.slot, extent.lowest, extent.highest);
    } else {
      MarkPages(range.slot, is_affine ? ActiveLanes(access).view() : lanes.view());
    }
  }
}

void Attribution::AddBulk(const StreamedAccess& access) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(access.stride) * kBulkBlockBytes;
  const SlotRange range = RangeOf(access.pc, access.address);
  AddShare(range.slot, access.flags, {bytes, SectorsOfBytes(access.address, bytes), 1});
  if (range.slot == kUnknownSlot) {
    SampleUnknown(access.address);
  } else if (WantsPages(range.slot)) {
    const std::uint64_t last = std::min(access.address + bytes, range.end) - 1;
    MarkPagesBetween(range.slot, access.address, last);
  }
}

void Attribution::AddApart(const StreamedAccess& access, std::span<const std::uint64_t> lanes) {
  const std::uint32_t leaders = FirstInSectors(lanes);
  SlotRange range{0, 0, kUnknownSlot};
  ++num_apart_;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (!Holds(range, lanes[i])) {
      range = Search(lanes[i]);
    }
    AddLane(range.slot, access, lanes[i], leaders >> i & 1U);
  }
}

void Attribution::AddLane(std::uint32_t slot, const StreamedAccess& access, std::uint64_t address,
                          std::uint32_t sectors) {
  SlotCounters& counters = counters_[slot];
  *CounterAt(counters, KindOf(access.flags)) += access.bytes;
  counters.sectors += sectors;
  counters.lanes_and_warps += 1;
  const bool is_first_in_slot = std::exchange(last_apart_[slot], num_apart_) != num_apart_;
  if (is_first_in_slot) {
    counters.lanes_and_warps += kOneWarp;
  }
  if (slot == kUnknownSlot) {
    if (is_first_in_slot) {
      SampleUnknown(address);
    }
  } else if (WantsPages(slot)) {
    MarkPage(PageBit(slot, address));
  }
}

void Attribution::AddShare(std::uint32_t slot, std::uint32_t flags, SlotShare share) {
  SlotCounters& counters = counters_[slot];
  *CounterAt(counters, KindOf(flags)) += share.bytes;
  counters.sectors += share.sectors;
  counters.lanes_and_warps += kOneWarp + share.lanes;
}

void Attribution::MarkPages(std::uint32_t slot, std::span<const std::uint64_t> lanes) {
  for (const std::uint64_t address : lanes) {
    MarkPage(PageBit(slot, address));
  }
}

void Attribution::MarkPagesBetween(std::uint32_t slot, std::uint64_t first, std::uint64_t last) {
  for (std::uint64_t bit = PageBit(slot, first); bit <= PageBit(slot, last); ++bit) {
    MarkPage(bit);
  }
}

void Attribution::SampleUnknown(std::uint64_t address) {
  if (unknown_samples_.size() < kMaxUnknownSamples) {
    unknown_samples_.push_back(address);
  }
}

const SlotRange& Attribution::RangeOf(std::uint32_t pc, std::uint64_t address) {
  SlotRange& last = last_hit_[pc % kRememberedInstructions];
  if (!Holds(last, address)) {
    last = Search(address);
  }
  return last;
}

SlotRange Attribution::Search(std::uint64_t address) const {
  const auto num_ranges = static_cast<std::uint32_t>(table_.ranges.size());
  const Range* const ranges = table_.ranges.data();
  return RangeAt(ranges, num_ranges, CountBegins(ranges, num_ranges, address), address);
}

bool Attribution::WantsPages(std::uint32_t slot) const {
  return !table_.first_page_bit.empty() && table_.first_page_bit[slot - 1] != kNoPages;
}

std::uint64_t Attribution::PageBit(std::uint32_t slot, std::uint64_t address) const {
  const std::uint32_t shift = table_.page_shift;
  return table_.first_page_bit[slot - 1] +
         ((address >> shift) - (table_.ranges[slot - 1].begin >> shift));
}

}  // namespace orrery::capture
