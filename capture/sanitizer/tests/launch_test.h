#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/sanitizer/device/layout.h"

namespace orrery::capture {

/// The memory of a launch as the host would prepare it, for emulated warps.
class TestLaunch {
 public:
  struct Options {
    std::vector<Range> ranges;
    std::uint32_t modes = kCountMode;
    std::uint32_t num_shards = 1;
    std::uint32_t page_shift = 12;
    std::uint32_t num_hints = 0;  // every other range, from the first on
    std::uint64_t num_cells = 1024;
    std::uint64_t max_spins = 3;
  };

  explicit TestLaunch(Options options);
  TestLaunch(const TestLaunch&) = delete;
  TestLaunch& operator=(const TestLaunch&) = delete;

  [[nodiscard]] LaunchRecord& record() { return record_; }

  [[nodiscard]] AccessRing& ring() { return ring_; }

  [[nodiscard]] std::uint64_t tail() const { return tail_; }

  [[nodiscard]] const std::vector<std::uint32_t>& page_bits() const { return page_bits_; }

  [[nodiscard]] const std::vector<std::uint32_t>& first_page_bit() const { return first_page_bit_; }

  /// Counters of each slot, summed over shards.
  [[nodiscard]] std::vector<SlotCounters> Totals() const;

 private:
  void LayOutPages();
  void GiveHints();

  Options options_;
  std::vector<SlotCounters> counters_;
  std::vector<std::uint32_t> first_page_bit_;
  std::vector<std::uint32_t> page_bits_;
  std::vector<AccessCell> cells_;
  std::uint64_t tail_ = 0;
  AccessRing ring_{};
  LaunchRecord record_{};
};

[[nodiscard]] std::uint64_t LanesOf(const SlotCounters& counters);
[[nodiscard]] std::uint64_t WarpsOf(const SlotCounters& counters);
[[nodiscard]] bool AreEqual(const SlotCounters& a, const SlotCounters& b);

}  // namespace orrery::capture
