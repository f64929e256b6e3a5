#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "capture/sanitizer/device/find_slot.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/device/warp_access.h"

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
  std::array<std::uint64_t, kNumLanes> addresses{};  // of active lanes, if the stride is general
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

/// The objects of a launch, as its LaunchRecord has them.
struct RangeTable {
  std::vector<Range> ranges{};                  // sorted, disjoint
  std::vector<std::uint32_t> first_page_bit{};  // as in LaunchRecord; empty: no pages are wanted
  std::uint32_t page_shift = 0;
  std::size_t num_page_bits = 0;
};

/// Attributes the accesses of one launch to its objects on the host, with the results that patches
/// have on the device. Takes a warp at a time: its lowest and highest address are looked up in the
/// range that this instruction hit last, and there is a search only where that fails.
class Attribution {
 public:
  explicit Attribution(RangeTable table);

  void Add(const StreamedAccess& access);

  /// One for each slot: slot 0 is unknown, slot i + 1 belongs to ranges[i].
  [[nodiscard]] std::span<const SlotCounters> counters() const { return counters_; }

  [[nodiscard]] std::span<const std::uint32_t> page_bits() const { return page_bits_; }

  /// The first few addresses that no object owns.
  [[nodiscard]] std::span<const std::uint64_t> unknown_samples() const { return unknown_samples_; }

 private:
  void AddBulk(const StreamedAccess& access);
  void AddApart(const StreamedAccess& access, std::span<const std::uint64_t> lanes);
  void AddLane(std::uint32_t slot, const StreamedAccess& access, std::uint64_t address,
               std::uint32_t sectors);
  void AddShare(std::uint32_t slot, std::uint32_t flags, SlotShare share);
  void MarkPages(std::uint32_t slot, std::span<const std::uint64_t> lanes);
  void MarkPagesBetween(std::uint32_t slot, std::uint64_t first, std::uint64_t last);

  void MarkPage(std::uint64_t bit) { page_bits_[bit / 32] |= 1U << (bit % 32); }

  void SampleUnknown(std::uint64_t address);
  [[nodiscard]] const SlotRange& RangeOf(std::uint32_t pc, std::uint64_t address);
  [[nodiscard]] SlotRange Search(std::uint64_t address) const;
  [[nodiscard]] bool WantsPages(std::uint32_t slot) const;
  [[nodiscard]] std::uint64_t PageBit(std::uint32_t slot, std::uint64_t address) const;

  static constexpr std::size_t kRememberedInstructions = 64;

  RangeTable table_;
  std::vector<SlotCounters> counters_;
  std::vector<std::uint64_t> last_apart_;  // by slot: which access over several slots was in it
  std::uint64_t num_apart_ = 0;
  std::vector<std::uint32_t> page_bits_;
  std::vector<std::uint64_t> unknown_samples_;
  std::array<SlotRange, kRememberedInstructions> last_hit_{};  // by pc
};

}  // namespace orrery::capture
