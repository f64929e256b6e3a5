#include "capture/sanitizer/tests/launch_test.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "capture/sanitizer/device/layout.h"

namespace orrery::capture {

TestLaunch::TestLaunch(Options options)
    : options_(std::move(options)),
      counters_((options_.ranges.size() + 1) * options_.num_shards),
      cells_(options_.num_cells) {
  LayOutPages();
  ring_ = {.cells = cells_.data(),
           .tail = &tail_,
           .head = 0,
           .dropped = 0,
           .num_cells = options_.num_cells,
           .max_spins = options_.max_spins,
           .seen_tail = 0,
           .margin = 0};
  record_.ranges = options_.ranges.data();
  record_.counters = counters_.data();
  record_.page_bits = page_bits_.data();
  record_.first_page_bit = first_page_bit_.data();
  record_.ring = &ring_;
  record_.num_ranges = static_cast<std::uint32_t>(options_.ranges.size());
  record_.num_shards = options_.num_shards;
  record_.page_shift = options_.page_shift;
  record_.modes = options_.modes;
  GiveHints();
}

void TestLaunch::LayOutPages() {
  std::uint64_t next_bit = 0;
  for (const Range& range : options_.ranges) {
    first_page_bit_.push_back(static_cast<std::uint32_t>(next_bit));
    const std::uint32_t shift = options_.page_shift;
    next_bit += ((range.end - 1) >> shift) - (range.begin >> shift) + 1;
  }
  page_bits_.resize(next_bit / 32 + 1);
}

void TestLaunch::GiveHints() {
  for (std::size_t i = 0; i < options_.ranges.size() && record_.num_hints < options_.num_hints;
       i += 2) {
    const Range& range = options_.ranges[i];
    record_.hints[record_.num_hints++] = {range.begin, range.end, static_cast<std::uint32_t>(i + 1),
                                          0};
  }
}

std::vector<SlotCounters> TestLaunch::Totals() const {
  const std::size_t num_slots = options_.ranges.size() + 1;
  std::vector<SlotCounters> totals(num_slots);
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    SlotCounters& total = totals[i % num_slots];
    total.read_bytes += counters_[i].read_bytes;
    total.write_bytes += counters_[i].write_bytes;
    total.atomic_bytes += counters_[i].atomic_bytes;
    total.sectors += counters_[i].sectors;
    total.lanes_and_warps += counters_[i].lanes_and_warps;
  }
  return totals;
}

std::uint64_t LanesOf(const SlotCounters& counters) {
  return counters.lanes_and_warps & ((std::uint64_t{1} << kLaneBits) - 1);
}

std::uint64_t WarpsOf(const SlotCounters& counters) {
  return counters.lanes_and_warps >> kLaneBits;
}

bool AreEqual(const SlotCounters& a, const SlotCounters& b) {
  return a.read_bytes == b.read_bytes && a.write_bytes == b.write_bytes &&
         a.atomic_bytes == b.atomic_bytes && a.sectors == b.sectors &&
         a.lanes_and_warps == b.lanes_and_warps;
}

}  // namespace orrery::capture
