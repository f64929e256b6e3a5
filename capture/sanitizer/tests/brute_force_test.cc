#include "capture/sanitizer/tests/brute_force_test.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"

namespace orrery::capture {

BruteForce::BruteForce(std::vector<Range> ranges, std::uint32_t page_shift)
    : ranges_(std::move(ranges)), page_shift_(page_shift), counters_(ranges_.size() + 1) {}

std::uint32_t BruteForce::SlotOf(std::uint64_t address) const {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].begin <= address && address < ranges_[i].end) {
      return static_cast<std::uint32_t>(i + 1);
    }
  }
  return kUnknownSlot;
}

std::uint64_t& BruteForce::BytesOf(std::uint32_t slot, std::uint32_t flags) {
  const bool reads = (flags & 1U) != 0;
  const bool writes = (flags & 2U) != 0;
  if (reads && writes) {
    return counters_[slot].atomic_bytes;
  }
  return reads ? counters_[slot].read_bytes : counters_[slot].write_bytes;
}

void BruteForce::Add(const WarpState& state, const Access& access) {
  std::set<std::uint64_t> sectors;
  std::set<std::uint32_t> slots;
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    if ((state.active >> lane & 1U) == 0) {
      continue;
    }
    const std::uint64_t address = state.addresses[lane];
    const std::uint32_t slot = SlotOf(address);
    BytesOf(slot, access.flags) += access.bytes;
    counters_[slot].lanes_and_warps += 1 + (slots.insert(slot).second ? kOneWarp : 0);
    counters_[slot].sectors += sectors.insert(address / 32).second ? 1 : 0;
    if (slot != kUnknownSlot) {
      pages_.emplace(slot, address >> page_shift_);
    }
  }
}

void BruteForce::AddBulk(const BulkCopy& copy) {
  const std::uint32_t slot = SlotOf(copy.address);
  std::set<std::uint64_t> sectors;
  for (std::uint64_t i = 0; i < copy.blocks * std::uint64_t{16}; ++i) {
    sectors.insert((copy.address + i) / 32);
    if (slot != kUnknownSlot && copy.address + i < ranges_[slot - 1].end) {
      pages_.emplace(slot, (copy.address + i) >> page_shift_);
    }
  }
  BytesOf(slot, copy.flags) += copy.blocks * std::uint64_t{16};
  counters_[slot].sectors += sectors.size();
  counters_[slot].lanes_and_warps += 1 + kOneWarp;
}

std::set<std::pair<std::uint32_t, std::uint64_t>> MarkedPages(
    const std::vector<Range>& ranges, const std::vector<std::uint32_t>& first_page_bit,
    const std::vector<std::uint32_t>& page_bits, std::uint32_t page_shift) {
  std::set<std::pair<std::uint32_t, std::uint64_t>> pages;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::uint64_t first = ranges[i].begin >> page_shift;
    for (std::uint64_t page = first; page <= (ranges[i].end - 1) >> page_shift; ++page) {
      const std::uint64_t bit = first_page_bit[i] + (page - first);
      if ((page_bits[bit / 32] >> (bit % 32) & 1U) != 0) {
        pages.emplace(i + 1, page);
      }
    }
  }
  return pages;
}

}  // namespace orrery::capture
