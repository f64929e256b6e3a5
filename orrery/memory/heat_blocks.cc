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

void HeatBlocks::FindGroup(std::uint64_t number) {
  std::unique_ptr<Group>& group = groups_[number];
  if (group == nullptr) {
    group = std::make_unique<Group>();
  }
  last_number_ = number;
  last_ = group.get();
}

// Windows mostly come in order; with several streams some begin a little earlier than the last.
void HeatBlocks::AddToOther(CountedBlock& block, std::uint32_t window, std::int64_t accesses) {
  const CountedBlock::InWindow fresh{.window = window, .accesses = accesses};
  if (block.latest.accesses == 0 || block.latest.window < window) {
    if (block.latest.accesses > 0) {
      block.earlier.push_back(block.latest);
    }
    block.latest = fresh;
    ++num_cells_;
    return;
  }
  auto after = block.earlier.end();
  while (after != block.earlier.begin() && std::prev(after)->window > window) {
    --after;
  }
  if (after != block.earlier.begin() && std::prev(after)->window == window) {
    std::prev(after)->accesses += accesses;
    return;
  }
  block.earlier.insert(after, fresh);
  ++num_cells_;
}

void HeatBlocks::HalveWindows() {
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    for (CountedBlock& block : *group.value()) {
      if (block.latest.accesses > 0) {
        HalveWindows(block);
      }
    }
  }
}

void HeatBlocks::HalveWindows(CountedBlock& block) {
  std::vector<CountedBlock::InWindow>& windows = block.earlier;
  windows.push_back(block.latest);
  std::size_t kept = 0;
  for (const CountedBlock::InWindow& one : windows) {
    const std::uint32_t window = one.window / 2;
    if (kept > 0 && windows[kept - 1].window == window) {
      windows[kept - 1].accesses += one.accesses;
      --num_cells_;
    } else {
      windows[kept++] = {.window = window, .accesses = one.accesses};
    }
  }
  block.latest = windows[kept - 1];
  windows.resize(kept - 1);
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
      if (group[i].latest.accesses == 0) {
        continue;
      }
      HeatBlock& block = heat.blocks.emplace_back();
      block.address = (number * kGroup + i) * static_cast<std::uint64_t>(block_bytes);
      block.object = group[i].favourite.number;
      block.num_objects = group[i].num_objects;
      const auto add = [&](const CountedBlock::InWindow& one) {
        block.accesses += one.accesses;
        heat.cells.push_back({.block = static_cast<std::uint32_t>(heat.blocks.size() - 1),
                              .window = one.window,
                              .accesses = one.accesses});
      };
      std::ranges::for_each(group[i].earlier, add);
      add(group[i].latest);
      heat.num_windows = std::max(heat.num_windows, group[i].latest.window + 1);
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
