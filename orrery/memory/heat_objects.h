#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/string_table.h"
#include "orrery/memory/heat.h"
#include "orrery/memory/heat_blocks.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Accesses to one object while it lives: by block, so that a block learns which object has most.
class LivingHeat {
 public:
  LivingHeat(const HeatObjectFacts& facts, std::uint64_t first_block, std::uint64_t num_blocks);

  void Add(std::uint64_t block, std::int64_t accesses, std::int64_t launch) {
    total_ += accesses;
    num_launches_ += launch == last_launch_ ? 0 : 1;
    last_launch_ = launch;
    const std::uint64_t place = block - first_block_;
    if (place < by_block_.size()) {
      by_block_[place] += accesses;
    } else {
      elsewhere_[block] += accesses;
    }
  }

  [[nodiscard]] const HeatObjectFacts& facts() const { return facts_; }

  [[nodiscard]] std::int64_t total() const { return total_; }

  [[nodiscard]] std::int64_t num_launches() const { return num_launches_; }

  /// Tells its blocks what it had in each.
  void AddToBlocks(HeatBlocks& blocks) const;

 private:
  HeatObjectFacts facts_;
  std::uint64_t first_block_;
  std::vector<std::int64_t> by_block_;
  tsl::robin_map<std::uint64_t, std::int64_t> elsewhere_;  // pages may begin before their object
  std::int64_t total_ = 0;
  std::int64_t num_launches_ = 0;
  std::int64_t last_launch_ = -1;
};

/// Objects over pieces: one that lives on into the next piece is the same there. An object that is
/// dead adds itself to its blocks and is forgotten, unless it is among those accessed most.
class HeatObjects {
 public:
  HeatObjects(std::int64_t block_bytes, HeatBlocks& blocks);

  void BeginPiece(const trace::Trace& piece);
  void EndPiece();

  /// The object of a row of the piece; kNoRow: all that no object owns.
  [[nodiscard]] LivingHeat& Of(RowId row);

  /// Ends all lives, and says what `heat` has of objects.
  void Finish(AccessHeat& heat);

 private:
  /// What makes an object the same in two pieces.
  struct Identity {
    std::int64_t id = -1;
    std::uint64_t address = 0;
    std::int64_t birth_order = -1;
    trace::MemoryClass memory_class = trace::MemoryClass::kUnknown;

    bool operator==(const Identity&) const = default;
  };

  struct IdentityHash {
    std::size_t operator()(const Identity& identity) const;
  };

  struct Total {
    HeatObjectFacts facts;
    ObjectHeat heat;
  };

  [[nodiscard]] Identity IdentityOf(RowId row) const;
  [[nodiscard]] std::unique_ptr<LivingHeat> Begin(RowId row, ObjectNumber number);
  void End(const LivingHeat& object);
  void KeepMost();
  void Describe(AccessHeat& heat) const;

  std::int64_t block_bytes_;
  HeatBlocks& blocks_;
  StringTable words_;
  ObjectNumber num_seen_ = 0;
  std::int64_t num_accessed_ = 0;
  LivingHeat unowned_;
  std::vector<Total> ended_;
  tsl::robin_map<Identity, std::unique_ptr<LivingHeat>, IdentityHash> living_;  // between pieces

  // Of the piece at hand.
  const trace::Trace* piece_ = nullptr;
  std::vector<std::unique_ptr<LivingHeat>> of_row_;  // null: new, and not accessed so far
  std::vector<ObjectNumber> number_of_row_;
};

}  // namespace orrery::memory
