#include "orrery/memory/heat_blocks.h"

#include <algorithm>
#include <iterator>

namespace orrery::memory {

void CountedBlock::AddObject(const HeatObjectFacts& object, std::int64_t accesses) {
  ++num_objects;
  if (accesses > most_accesses || (accesses == most_accesses && object.number < favourite.number)) {
    most_accesses = accesses;
    favourite = object;
  }
}

CountedBlock& HeatBlocks::At(std::uint64_t block) {
  const std::uint64_t number = block / kGroup;
  if (last_ == nullptr || number != last_number_) {
    std::unique_ptr<Group>& group = groups_[number];
    if (group == nullptr) {
      group = std::make_unique<Group>();
    }
    last_number_ = number;
    last_ = group.get();
  }
  return (*last_)[block % kGroup];
}

// Windows mostly come in order; with several streams some begin a little earlier than the last.
void HeatBlocks::Add(CountedBlock& block, std::uint32_t window, std::int64_t accesses) {
  std::vector<CountedBlock::InWindow>& windows = block.windows;
  auto after = windows.end();
  while (after != windows.begin() && std::prev(after)->window > window) {
    --after;
  }
  if (after != windows.begin() && std::prev(after)->window == window) {
    std::prev(after)->accesses += accesses;
    return;
  }
  windows.insert(after, CountedBlock::InWindow{.window = window, .accesses = accesses});
  ++num_cells_;
}

void HeatBlocks::HalveWindows() {
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    for (CountedBlock& block : *group.value()) {
      std::size_t kept = 0;
      for (const CountedBlock::InWindow& one : block.windows) {
        const std::uint32_t window = one.window / 2;
        if (kept > 0 && block.windows[kept - 1].window == window) {
          block.windows[kept - 1].accesses += one.accesses;
          --num_cells_;
        } else {
          block.windows[kept++] = {.window = window, .accesses = one.accesses};
        }
      }
      block.windows.resize(kept);
    }
  }
}

void HeatBlocks::Finish(std::int64_t block_bytes, AccessHeat& heat) const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, group] : groups_) {
    numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  heat.cells.reserve(num_cells_);
  for (const std::uint64_t number : numbers) {
    const Group& group = *groups_.at(number);
    for (std::uint64_t i = 0; i < kGroup; ++i) {
      if (group[i].windows.empty()) {
        continue;
      }
      HeatBlock& block = heat.blocks.emplace_back();
      block.address = (number * kGroup + i) * static_cast<std::uint64_t>(block_bytes);
      block.object = group[i].favourite.number;
      block.num_objects = group[i].num_objects;
      for (const CountedBlock::InWindow& one : group[i].windows) {
        block.accesses += one.accesses;
        heat.num_windows = std::max(heat.num_windows, one.window + 1);
        heat.cells.push_back({.block = static_cast<std::uint32_t>(heat.blocks.size() - 1),
                              .window = one.window,
                              .accesses = one.accesses});
      }
    }
  }
}

std::vector<HeatObjectFacts> HeatBlocks::Favourites() const {
  std::vector<HeatObjectFacts> favourites;
  for (const auto& [number, group] : groups_) {
    for (const CountedBlock& block : *group) {
      if (block.favourite.number != kNoObject) {
        favourites.push_back(block.favourite);
      }
    }
  }
  return favourites;
}

}  // namespace orrery::memory
