#include "capture/sanitizer/analysis/ring_reader.h"

#include <bit>
#include <cstdint>

#include "capture/sanitizer/device/layout.h"
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

}  // namespace orrery::capture
