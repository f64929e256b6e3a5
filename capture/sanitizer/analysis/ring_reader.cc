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
  access.flags = cell.packed >> 8U & 0xffU;
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
  if (access.stride != kGeneralStride) {
    Release(1);
    return true;
  }
  for (std::uint32_t rest = access.active; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    access.addresses[lane] = *LaneAddress(*ring_, position_, lane);
  }
  Release(1 + kLaneCells);
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
