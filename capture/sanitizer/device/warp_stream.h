#pragma once

#include <cstdint>

#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/device/warp_access.h"

// The streaming mode: every access of a warp becomes a record in the ring, for the host to analyse.

namespace orrery::capture {

inline constexpr std::uint64_t kNoCells = UINT64_MAX;
inline constexpr std::uint32_t kAddressesInCell = kNumLanes / kLaneCells;

/// The addresses of lanes in a cell that belongs to the cell before.
struct LaneAddressCell {
  std::uint64_t addresses[kAddressesInCell];
};

static_assert(sizeof(LaneAddressCell) == sizeof(AccessCell));

ORRERY_HOST_DEVICE AccessCell& CellAt(const AccessRing& ring, std::uint64_t position) {
  return ring.cells[position & (ring.num_cells - 1)];
}

/// Returns how often the cell of a position has been used, this use included.
ORRERY_HOST_DEVICE std::uint64_t TurnAt(const AccessRing& ring, std::uint64_t position) {
  return (position >> LogOf(ring.num_cells)) + 1;
}

/// Returns the number of cells in the record of an access.
ORRERY_HOST_DEVICE std::uint32_t CellsOf(bool is_general, bool has_place) {
  return 1 + (is_general ? kLaneCells : 0) + (has_place ? 1 : 0);
}

/// The last of the `num_cells` of a record that says who made the access.
ORRERY_HOST_DEVICE PlaceCell& PlaceIn(const AccessRing& ring, std::uint64_t position,
                                      std::uint32_t num_cells) {
  return reinterpret_cast<PlaceCell&>(CellAt(ring, position + num_cells - 1));
}

/// Returns the place of a lane's address in a record.
ORRERY_HOST_DEVICE std::uint64_t* LaneAddress(const AccessRing& ring, std::uint64_t position,
                                              std::uint32_t lane) {
  AccessCell& cell = CellAt(ring, position + 1 + lane / kAddressesInCell);
  return reinterpret_cast<LaneAddressCell&>(cell).addresses + lane % kAddressesInCell;
}

/// Says whether `num_cells` more would fit. Asks the host's memory only when what is known of it
/// does not suffice.
template <Warp W>
ORRERY_HOST_DEVICE bool HasRoom(AccessRing& ring, std::uint32_t num_cells) {
  const std::uint64_t needed = W::Load(&ring.head) + num_cells + ring.margin;
  if (needed <= W::Load(&ring.seen_tail) + ring.num_cells) {
    return true;
  }
  const std::uint64_t tail = W::LoadFromHost(ring.tail);
  W::Max(&ring.seen_tail, tail);
  return needed <= tail + ring.num_cells;
}

/// Returns the position of cells that are now the caller's, or kNoCells after a bounded wait.
template <Warp W>
ORRERY_HOST_DEVICE std::uint64_t TakeCells(AccessRing& ring, std::uint32_t num_cells) {
  ORRERY_KEEP_LOOP
  for (std::uint64_t spins = 0; !HasRoom<W>(ring, num_cells); ++spins) {
    if (spins >= ring.max_spins) {
      W::Add(&ring.dropped, 1);
      return kNoCells;
    }
    W::Pause();
  }
  return W::FetchAdd(&ring.head, num_cells);
}

template <Warp W>
ORRERY_HOST_DEVICE std::uint64_t TakeCellsOnce(W warp, AccessRing& ring, std::uint32_t num_cells) {
  std::uint64_t position = kNoCells;
  warp.Once([&] { position = TakeCells<W>(ring, num_cells); });
  return warp.FromOne(position);
}

/// Writes a cell, its turn last: a host that sees the turn sees the rest.
template <Warp W>
ORRERY_HOST_DEVICE void WriteCell(const AccessRing& ring, std::uint64_t position,
                                  const AccessCell& content) {
  AccessCell& cell = CellAt(ring, position);
  cell.address = content.address;
  cell.active = content.active;
  cell.stride = content.stride;
  cell.packed = content.packed;
  cell.launch = content.launch;
  W::FenceForHost();
  W::StoreForHost(&cell.turn, TurnAt(ring, position));
}

ORRERY_HOST_DEVICE std::uint32_t PackAccess(std::uint64_t pc, std::uint32_t bytes,
                                            std::uint32_t flags) {
  return bytes | flags << 8U | static_cast<std::uint32_t>(pc >> 4U) << 16U;
}

/// Returns the distance of neighbouring lanes if the first two active ones keep to one that fits,
/// else kGeneralStride. One lane alone has none: 0.
template <Warp W>
ORRERY_HOST_DEVICE std::int32_t GuessStride(W warp) {
  const std::uint32_t first_lane = W::Lowest(warp.active());
  const std::uint32_t others = warp.active() & (warp.active() - 1);
  if (others == 0) {
    return 0;
  }
  const std::uint32_t second_lane = W::Lowest(others);
  const auto distance =
      static_cast<std::int64_t>(warp.AddressOf(second_lane) - warp.AddressOf(first_lane));
  const auto lanes_between = static_cast<std::int32_t>(second_lane - first_lane);
  if (distance > INT32_MAX || distance <= INT32_MIN) {
    return kGeneralStride;
  }
  const auto short_distance = static_cast<std::int32_t>(distance);
  return short_distance % lanes_between == 0 ? short_distance / lanes_between : kGeneralStride;
}

/// Returns where `lane` would be if lane 0 were at `address`.
ORRERY_HOST_DEVICE std::uint64_t AffineAddress(std::uint64_t address, std::int32_t stride,
                                               std::uint32_t lane) {
  return address + static_cast<std::uint64_t>(static_cast<std::int64_t>(stride) *
                                              static_cast<std::int64_t>(lane));
}

/// Finds the rule that the lanes follow. Returns address of lane 0 and stride in a cell.
template <Warp W>
ORRERY_HOST_DEVICE AccessCell DescribeLanes(W warp) {
  const std::uint32_t active = warp.active();
  const std::uint32_t first_lane = W::Lowest(active);
  const std::int32_t stride = GuessStride(warp);
  AccessCell cell{0, warp.AddressOf(first_lane), active, kGeneralStride, 0, 0};
  if (stride == kGeneralStride) {
    return cell;
  }
  const std::uint64_t lane_0 = cell.address - AffineAddress(0, stride, first_lane);
  const std::uint32_t affine = warp.Vote([&](std::uint32_t lane, std::uint64_t address) {
    return address == AffineAddress(lane_0, stride, lane);
  });
  if (affine == active) {
    cell.address = lane_0;
    cell.stride = stride;
  }
  return cell;
}

ORRERY_HOST_DEVICE bool WantsPlace(const LaunchRecord& record) {
  return (record.modes & kPlaceMode) != 0;
}

/// Says who makes the access. Threads of a warp are neighbours by their numbers in the block, so
/// any of them will do. The hardware's own numbers are slots, which other warps have had before.
template <Warp W>
ORRERY_HOST_DEVICE void WritePlace(W warp, PlaceCell& place) {
  place.block = LinearNumber(warp.block(), warp.grid());
  place.warp = LinearNumber(warp.thread(), warp.block_size()) / kNumLanes;
}

/// Writes an access of a warp into the ring, or counts it as dropped.
template <Warp W>
ORRERY_ASIDE void StreamAccess(W warp, const LaunchRecord& record, Access access) {
  AccessRing& ring = *record.ring;
  AccessCell cell = DescribeLanes(warp);
  const bool is_general = cell.stride == kGeneralStride;
  const bool has_place = WantsPlace(record);
  const std::uint32_t num_cells = CellsOf(is_general, has_place);
  const std::uint64_t position = TakeCellsOnce(warp, ring, num_cells);
  if (position == kNoCells) {
    return;
  }
  if (is_general) {
    warp.ForLanes([&](std::uint32_t lane, std::uint64_t address) {
      *LaneAddress(ring, position, lane) = address;
      W::FenceForHost();
    });
    warp.Join();
  }
  cell.packed = PackAccess(access.pc, access.bytes, access.flags | (has_place ? kPlaceFlag : 0U));
  cell.launch = static_cast<std::uint32_t>(record.launch);
  warp.Once([&] {
    if (has_place) {
      WritePlace(warp, PlaceIn(ring, position, num_cells));
    }
    WriteCell<W>(ring, position, cell);
  });
}

/// Writes a bulk copy into the ring: one lane, with the number of blocks in place of a stride.
template <Warp W>
ORRERY_ASIDE void StreamBulk(W warp, const LaunchRecord& record, BulkCopy copy) {
  AccessRing& ring = *record.ring;
  const bool has_place = WantsPlace(record);
  const std::uint32_t num_cells = CellsOf(false, has_place);
  const std::uint64_t position = TakeCellsOnce(warp, ring, num_cells);
  if (position == kNoCells) {
    return;
  }
  const std::uint32_t flags = copy.flags | kBulkFlag | (has_place ? kPlaceFlag : 0U);
  warp.Once([&] {
    if (has_place) {
      WritePlace(warp, PlaceIn(ring, position, num_cells));
    }
    WriteCell<W>(
        ring, position,
        {0, copy.address, 1, static_cast<std::int32_t>(copy.blocks),
         PackAccess(copy.pc, kBulkBlockBytes, flags), static_cast<std::uint32_t>(record.launch)});
  });
}

}  // namespace orrery::capture
