#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp_access.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"

namespace orrery::capture {

/// Counts accesses lane by lane with a linear search: what patches and attribution must agree with.
class BruteForce {
 public:
  explicit BruteForce(std::vector<Range> ranges, std::uint32_t page_shift = 12);

  void Add(const WarpState& state, const Access& access);
  void AddBulk(const BulkCopy& copy);

  [[nodiscard]] const std::vector<SlotCounters>& counters() const { return counters_; }

  /// (slot, page) of everything touched.
  [[nodiscard]] const std::set<std::pair<std::uint32_t, std::uint64_t>>& pages() const {
    return pages_;
  }

 private:
  [[nodiscard]] std::uint32_t SlotOf(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t& BytesOf(std::uint32_t slot, std::uint32_t flags);

  std::vector<Range> ranges_;
  std::uint32_t page_shift_;
  std::vector<SlotCounters> counters_;
  std::set<std::pair<std::uint32_t, std::uint64_t>> pages_;
};

/// Reads marked bits back into (slot, page).
[[nodiscard]] std::set<std::pair<std::uint32_t, std::uint64_t>> MarkedPages(
    const std::vector<Range>& ranges, const std::vector<std::uint32_t>& first_page_bit,
    const std::vector<std::uint32_t>& page_bits, std::uint32_t page_shift = 12);

}  // namespace orrery::capture
