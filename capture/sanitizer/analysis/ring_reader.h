#pragma once

#include <array>
#include <cstdint>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"

namespace orrery::capture {

/// One access of a warp, or one bulk copy, as it came through the ring.
struct StreamedAccess {
  std::uint64_t address = 0;  // of lane 0, as if it were active
  std::uint32_t active = 0;
  std::int32_t stride = 0;  // of lanes, or kGeneralStride; of a bulk copy the number of blocks
  std::uint32_t bytes = 0;  // of each lane, or of a block
  std::uint32_t flags = 0;
  std::uint32_t pc = 0;      // in units of 16 bytes, low 16 bits
  std::uint32_t launch = 0;  // low half
  bool has_place = false;    // block and warp are known
  std::uint64_t block = 0;
  std::uint64_t warp = 0;
  std::array<std::uint64_t, kNumLanes> addresses{};  // where the stride is general, of active lanes
};

/// The host's end of a ring; one thread reads. It never waits: what is not complete is not there.
class RingReader {
 public:
  explicit RingReader(AccessRing& ring) : ring_(&ring) {}

  /// Takes the next access. Returns false where there is none yet.
  [[nodiscard]] bool Next(StreamedAccess& access);

  /// Cells taken so far; equal to the ring's head when all is read.
  [[nodiscard]] std::uint64_t position() const { return position_; }

 private:
  void Release(std::uint32_t num_cells);

  AccessRing* ring_;
  std::uint64_t position_ = 0;
};

}  // namespace orrery::capture
