#include "orrery/memory/heat_objects.h"

#include <algorithm>
#include <utility>

#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/object_label.h"

namespace orrery::memory {
namespace {


// Larger objects in small blocks keep only those that are accessed.
constexpr std::uint64_t kMostBlocksInARow = 65'536;

bool IsAccessedMore(const ObjectHeat& a, const ObjectHeat& b) {
  return a.accesses != b.accesses ? a.accesses > b.accesses : a.object < b.object;
}

}  // namespace

LivingHeat::LivingHeat(const HeatObjectFacts& facts, std::uint64_t first_block,
                       std::uint64_t num_blocks)
    : facts_(facts),
      first_block_(first_block),
      by_block_(num_blocks <= kMostBlocksInARow ? num_blocks : 0, 0) {}

void LivingHeat::AddToBlocks(HeatBlocks& blocks) const {
  for (std::uint64_t i = 0; i < by_block_.size(); ++i) {
    if (by_block_[i] > 0) {
      blocks.At(first_block_ + i).AddObject(facts_, by_block_[i]);
    }
  }
  for (const auto& [block, accesses] : elsewhere_) {
    blocks.At(block).AddObject(facts_, accesses);
  }
}

std::size_t HeatObjects::IdentityHash::operator()(const Identity& identity) const {
  std::uint64_t hash = identity.address + static_cast<std::uint64_t>(identity.memory_class);
  for (const std::int64_t part : {identity.id, identity.birth_order}) {
    hash = (hash ^ (hash >> 29U)) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(part);
  }
  return hash ^ (hash >> 32U);
}

HeatObjects::HeatObjects(std::int64_t block_bytes, HeatBlocks& blocks)
    : block_bytes_(block_bytes), blocks_(blocks), unowned_({}, 0, 0) {}

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
  // What does not come again has ended, although the recording does not say so.
  for (const auto& [identity, object] : living_) {
    if (object != nullptr) {
      End(*object);
    }
  }
  living_.clear();
}

LivingHeat& HeatObjects::Of(RowId row) {
  if (row == kNoRow) {
    return unowned_;
  }
  std::unique_ptr<LivingHeat>& object = of_row_[row];
  if (object == nullptr) {
    object = Begin(row, number_of_row_[row]);
  }
  return *object;
}

void HeatObjects::EndPiece() {
  for (RowId row = 0; row < of_row_.size(); ++row) {
    if (piece_->memory_objects.death_order[row] < 0) {
      if (of_row_[row] == nullptr) {
        of_row_[row] = Begin(row, number_of_row_[row]);
      }
      living_.try_emplace(IdentityOf(row), std::move(of_row_[row]));
    }
    // Those that died, and a second one that cannot be told from the first.
    if (of_row_[row] != nullptr) {
      End(*of_row_[row]);
    }
  }
}

HeatObjects::Identity HeatObjects::IdentityOf(RowId row) const {
  const trace::MemoryObjects& objects = piece_->memory_objects;
  return {.id = objects.id[row],
          .address = objects.address[row],
          .birth_order = objects.birth_order[row],
          .memory_class = objects.memory_class[row]};
}

std::unique_ptr<LivingHeat> HeatObjects::Begin(RowId row, ObjectNumber number) {
  const trace::MemoryObjects& objects = piece_->memory_objects;
  const HeatObjectFacts facts{.number = number,
                              .word = words_.Intern(ObjectWord(*piece_, row)),
                              .id = objects.id[row],
                              .bytes = objects.bytes[row],
                              .memory_class = objects.memory_class[row]};
  const ByteRange range = RangeOf(objects.address[row], std::max<std::int64_t>(1, facts.bytes));
  const auto block_bytes = static_cast<std::uint64_t>(block_bytes_);
  const std::uint64_t first = range.begin / block_bytes;
  return std::make_unique<LivingHeat>(facts, first, (range.end - 1) / block_bytes - first + 1);
}

void HeatObjects::End(const LivingHeat& object) {
  if (object.total() == 0) {
    return;
  }
  ++num_accessed_;
  object.AddToBlocks(blocks_);
  ended_.push_back({.facts = object.facts(),
                    .heat = {.object = object.facts().number,
                             .accesses = object.total(),
                             .num_launches = object.num_launches()}});
  if (ended_.size() >= 2 * AccessHeat::kMostObjects) {
    KeepMost();
  }
}

void HeatObjects::KeepMost() {
  std::ranges::sort(ended_, IsAccessedMore, &Total::heat);
  ended_.resize(std::min(ended_.size(), AccessHeat::kMostObjects));
}

void HeatObjects::Finish(AccessHeat& heat) {
  for (const auto& [identity, object] : living_) {
    End(*object);
  }
  living_.clear();
  End(unowned_);
  KeepMost();
  heat.num_objects = num_accessed_;
  for (const Total& total : ended_) {
    heat.objects.push_back(total.heat);
  }
  Describe(heat);
}

void HeatObjects::Describe(AccessHeat& heat) const {
  std::vector<HeatObjectFacts> named = blocks_.Favourites();
  for (const Total& total : ended_) {
    if (total.facts.number != kNoObject) {
      named.push_back(total.facts);
    }
  }
  std::ranges::sort(named, {}, &HeatObjectFacts::number);
  const auto rest = std::ranges::unique(named, {}, &HeatObjectFacts::number);
  named.erase(rest.begin(), rest.end());
  for (const HeatObjectFacts& facts : named) {
    heat.described.push_back({.object = facts.number,
                              .label = ObjectLabel(words_.View(facts.word), facts.id, facts.number),
                              .memory_class = facts.memory_class,
                              .bytes = facts.bytes});
  }
}

}  // namespace orrery::memory
