#include "orrery/memory/heat/heat_counts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/heat/heat.h"
#include "orrery/memory/names.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

constexpr std::int64_t kMostFixedWindows = 1'000'000;
constexpr std::int64_t kFewWindows = 4'096;

// Larger objects in small blocks store only blocks that are accessed.
constexpr std::uint64_t kMostBlocksInARow = 65'536;

}  // namespace

void CountedBlock::AddObject(const HeatObjectInfo& object, std::int64_t accesses) {
  ++num_objects;
  if (accesses > most_accesses ||
      (accesses == most_accesses && object.number < top_object.number)) {
    most_accesses = accesses;
    top_object = object;
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
  const CountedBlock::InWindow added{.window = window, .accesses = accesses};
  if (block.latest.accesses == 0 || block.latest.window < window) {
    if (block.latest.accesses > 0) {
      block.earlier.push_back(block.latest);
    }
    block.latest = added;
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
  block.earlier.insert(after, added);
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
      block.object = group[i].top_object.number;
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

std::vector<HeatObjectInfo> HeatBlocks::TopObjects() const {
  std::vector<HeatObjectInfo> objects;
  for (const auto& [number, group] : groups_) {
    for (const CountedBlock& block : *group) {
      if (block.top_object.number != kNoObject) {
        objects.push_back(block.top_object);
      }
    }
  }
  return objects;
}

HeatWindows::HeatWindows(const HeatOptions& options, HeatBlocks& blocks)
    : unit_(options.unit),
      is_fixed_(options.window.has_value()),
      blocks_(blocks),
      window_(options.window.value_or(HeatOptions::kFirstWindow)),
      room_(unit_ == WindowUnit::kAccesses ? window_ : 0) {}

void HeatWindows::BeginLaunch(std::int64_t position) {
  if (unit_ != WindowUnit::kAccesses) {
    position_ = position;
    room_ = 0;
  }
}

void HeatWindows::AddBeyond(CountedBlock& block, std::int64_t accesses) {
  if (unit_ != WindowUnit::kAccesses) {
    MakeRoomFor(position_ / window_);
    current_ = position_ / window_;
    room_ = std::numeric_limits<std::int64_t>::max();
  } else {
    MakeRoomFor(current_ + (accesses - room_ - 1) / window_ + 1);
  }
  while (accesses > 0 && !are_too_many_) {
    if (room_ == 0) {
      ++current_;
      room_ = window_;
    }
    const std::int64_t now = std::min(accesses, room_);
    AddHere(block, now);
    accesses -= now;
  }
}

// Each doubling halves the numbers of windows that have accesses and of the one to come.
void HeatWindows::MakeRoomFor(std::int64_t last_window) {
  are_too_many_ = are_too_many_ || (is_fixed_ && last_window >= kMostFixedWindows);
  while (!is_fixed_ && last_window >= kFewWindows) {
    Double();
    last_window /= 2;
  }
}

void HeatWindows::Double() {
  blocks_.HalveWindows();
  window_ *= 2;
  last_ /= 2;
  current_ /= 2;
  if (unit_ == WindowUnit::kAccesses) {
    current_ = total_ / window_;
    room_ = window_ - total_ % window_;
  }
}

ObjectCounts::ObjectCounts(const HeatObjectInfo& info, std::uint64_t first_block,
                           std::uint64_t num_blocks)
    : info_(info),
      heat_{.object = info.number},
      first_block_(first_block),
      by_block_(num_blocks <= kMostBlocksInARow ? num_blocks : 0, 0) {}

void ObjectCounts::AddToBlocks(HeatBlocks& blocks) const {
  for (std::uint64_t i = 0; i < by_block_.size(); ++i) {
    if (by_block_[i] > 0) {
      blocks.At(first_block_ + i).AddObject(info_, by_block_[i]);
    }
  }
  for (const auto& [block, accesses] : elsewhere_) {
    blocks.At(block).AddObject(info_, accesses);
  }
}

std::size_t HeatObjects::IdentityHash::operator()(const Identity& identity) const {
  std::uint64_t hash = identity.address + static_cast<std::uint64_t>(identity.memory_class);
  for (const std::int64_t part : {identity.id, identity.birth_order}) {
    hash = (hash ^ (hash >> 29U)) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(part);
  }
  return hash ^ (hash >> 32U);
}

void HeatObjects::BeginPiece(const trace::Trace& piece) {
  piece_ = &piece;
  const std::size_t num_rows = piece.memory_objects.size();
  of_row_.clear();
  of_row_.resize(num_rows);
  number_of_row_.assign(num_rows, kNoObject);
  for (RowId row = 0; row < num_rows; ++row) {
    const auto found = living_.find(IdentityOf(row));
    if (found != living_.end() && found->second != nullptr) {
      of_row_[row] = std::move(found.value());
    } else {
      number_of_row_[row] = num_seen_++;
    }
  }
  // Objects that are missing in this piece have ended, although no event says so.
  EndLiving();
}

void HeatObjects::EndPiece() {
  for (RowId row = 0; row < of_row_.size(); ++row) {
    if (piece_->memory_objects.death_order[row] < 0) {
      if (of_row_[row] == nullptr) {
        Begin(row);
      }
      living_.try_emplace(IdentityOf(row), std::move(of_row_[row]));
    }
    // Dead objects, and a second one with the identity of another.
    if (of_row_[row] != nullptr) {
      End(*of_row_[row]);
    }
  }
}

HeatObjects::Identity HeatObjects::IdentityOf(RowId row) const {
  const trace::MemoryObjects& objects = piece_->memory_objects;
  return {objects.id[row], objects.address[row], objects.birth_order[row],
          objects.memory_class[row]};
}

ObjectCounts& HeatObjects::Begin(RowId row) {
  const trace::MemoryObjects& objects = piece_->memory_objects;
  const HeatObjectInfo info{.number = number_of_row_[row],
                            .name = names_.Intern(ObjectName(*piece_, row)),
                            .id = objects.id[row],
                            .bytes = objects.bytes[row],
                            .memory_class = objects.memory_class[row]};
  const ByteRange range = RangeOf(objects.address[row], std::max<std::int64_t>(1, info.bytes));
  const auto block_bytes = static_cast<std::uint64_t>(block_bytes_);
  const std::uint64_t first = range.begin / block_bytes;
  of_row_[row] =
      std::make_unique<ObjectCounts>(info, first, (range.end - 1) / block_bytes - first + 1);
  return *of_row_[row];
}

void HeatObjects::End(const ObjectCounts& object) {
  if (object.heat().accesses == 0) {
    return;
  }
  ++num_accessed_;
  object.AddToBlocks(blocks_);
  ended_.push_back({.info = object.info(), .heat = object.heat()});
  if (ended_.size() >= 2 * AccessHeat::kMostObjects) {
    KeepMost();
  }
}

void HeatObjects::EndLiving() {
  for (const auto& [identity, object] : living_) {
    if (object != nullptr) {
      End(*object);
    }
  }
  living_.clear();
}

void HeatObjects::KeepMost() {
  std::ranges::sort(ended_, {}, [](const Total& total) {
    return std::pair(-total.heat.accesses, total.heat.object);
  });
  ended_.resize(std::min(ended_.size(), AccessHeat::kMostObjects));
}

void HeatObjects::Finish(AccessHeat& heat) {
  EndLiving();
  End(unowned_);
  KeepMost();
  heat.num_objects = num_accessed_;
  for (const Total& total : ended_) {
    heat.objects.push_back(total.heat);
  }
  Describe(heat);
}

void HeatObjects::Describe(AccessHeat& heat) const {
  std::vector<HeatObjectInfo> objects = blocks_.TopObjects();
  for (const Total& total : ended_) {
    if (total.info.number != kNoObject) {
      objects.push_back(total.info);
    }
  }
  std::ranges::sort(objects, {}, &HeatObjectInfo::number);
  const auto rest = std::ranges::unique(objects, {}, &HeatObjectInfo::number);
  objects.erase(rest.begin(), rest.end());
  for (const HeatObjectInfo& info : objects) {
    heat.described.push_back({.object = info.number,
                              .name = std::string(names_.View(info.name)),
                              .label = ObjectLabel(names_.View(info.name), info.id, info.number),
                              .memory_class = info.memory_class,
                              .bytes = info.bytes});
  }
}

}  // namespace orrery::memory
