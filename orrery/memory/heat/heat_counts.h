#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include <tsl/robin_map.h>

#include "orrery/memory/heat/heat.h"
#include "orrery/trace/trace.h"

// The counts behind a HeatCounter: by block and window, and by object.

namespace orrery::memory {

/// An object that was accessed.
struct HeatObjectInfo {
  ObjectNumber number = kNoObject;
  StringId name = StringId::kEmpty;  // of HeatObjects
  std::int64_t id = -1;
  std::int64_t bytes = 0;
  trace::MemoryClass memory_class = trace::MemoryClass::kUnknown;
};

/// Accesses to one block.
struct CountedBlock {
  struct InWindow {
    std::uint32_t window = 0;
    std::int64_t accesses = 0;
  };

  InWindow latest = {};                // without accesses: the block has none at all
  std::vector<InWindow> earlier = {};  // windows before, in order
  std::int64_t num_objects = 0;
  std::int64_t most_accesses = 0;  // of one object
  HeatObjectInfo top_object = {};  // that object

  /// Adds all accesses of one object to this block.
  void AddObject(const HeatObjectInfo& object, std::int64_t accesses);
};

/// Blocks by their number: address divided by size.
class HeatBlocks {
 public:
  [[nodiscard]] CountedBlock& At(std::uint64_t block) {
    if (last_ == nullptr || block / kGroup != last_number_) {
      FindGroup(block / kGroup);
    }
    return (*last_)[block % kGroup];
  }

  /// Adds at least one access.
  void Add(CountedBlock& block, std::uint32_t window, std::int64_t accesses) {
    if (block.latest.window == window && block.latest.accesses > 0) {
      block.latest.accesses += accesses;
    } else {
      AddToOther(block, window, accesses);
    }
  }

  /// Merges pairs of windows.
  void HalveWindows();

  [[nodiscard]] std::size_t num_cells() const { return num_cells_; }

  /// Fills blocks and cells of `heat`.
  void Finish(std::int64_t block_bytes, AccessHeat& heat) const;

  /// The most accessed object of each block.
  [[nodiscard]] std::vector<HeatObjectInfo> TopObjects() const;

 private:
  static constexpr std::uint64_t kGroup = 64;

  // Accesses are to neighbouring blocks: one search finds many.
  using Group = std::array<CountedBlock, kGroup>;

  void FindGroup(std::uint64_t number);
  void AddToOther(CountedBlock& block, std::uint32_t window, std::int64_t accesses);
  void HalveWindows(CountedBlock& block);

  tsl::robin_map<std::uint64_t, std::unique_ptr<Group>> groups_;
  std::uint64_t last_number_ = 0;
  Group* last_ = nullptr;
  std::size_t num_cells_ = 0;
};

/// Assigns accesses to windows, one after the other. Without a fixed window it doubles until there
/// are few windows and cells: the smallest size that suffices for all, in whatever order they come.
class HeatWindows {
 public:
  HeatWindows(const HeatOptions& options, HeatBlocks& blocks);

  /// Begins a launch at its number or its time.
  void BeginLaunch(std::int64_t position);

  /// Adds at least one access.
  void Add(CountedBlock& block, std::int64_t accesses) {
    if (accesses <= room_) {
      AddHere(block, accesses);
    } else {
      AddBeyond(block, accesses);
    }
    while (!is_fixed_ && blocks_.num_cells() > kFewCells && last_ > 0) {
      Double();
    }
  }

  [[nodiscard]] std::int64_t total() const { return total_; }

  [[nodiscard]] std::int64_t window() const { return window_; }

  /// Returns true if a fixed window is so short that there are too many; counting has stopped.
  [[nodiscard]] bool AreTooMany() const { return are_too_many_; }

 private:
  static constexpr std::size_t kFewCells = 1 << 20;

  void AddHere(CountedBlock& block, std::int64_t accesses) {
    last_ = std::max(last_, current_);
    total_ += accesses;
    room_ -= accesses;
    blocks_.Add(block, static_cast<std::uint32_t>(current_), accesses);
  }

  void AddBeyond(CountedBlock& block, std::int64_t accesses);
  void MakeRoomFor(std::int64_t last_window);
  void Double();

  WindowUnit unit_;
  bool is_fixed_;
  bool are_too_many_ = false;
  HeatBlocks& blocks_;
  std::int64_t window_;
  std::int64_t total_ = 0;
  std::int64_t position_ = 0;  // of the launch
  std::int64_t current_ = 0;   // window
  std::int64_t last_ = 0;      // the last window that has accesses
  std::int64_t room_ = 0;      // accesses until the next window; 0: the launch has no window so far
};

/// Accesses to one live object by block, so that blocks know which object has most.
class ObjectCounts {
 public:
  ObjectCounts(const HeatObjectInfo& info, std::uint64_t first_block, std::uint64_t num_blocks);

  void Add(std::uint64_t block, std::int64_t accesses, std::int64_t launch) {
    heat_.accesses += accesses;
    heat_.num_launches += launch == last_launch_ ? 0 : 1;
    last_launch_ = launch;
    const std::uint64_t place = block - first_block_;
    if (place < by_block_.size()) {
      by_block_[place] += accesses;
    } else {
      elsewhere_[block] += accesses;
    }
  }

  [[nodiscard]] const HeatObjectInfo& info() const { return info_; }

  [[nodiscard]] const ObjectHeat& heat() const { return heat_; }

  /// Adds the object to its blocks.
  void AddToBlocks(HeatBlocks& blocks) const;

 private:
  HeatObjectInfo info_;
  ObjectHeat heat_;
  std::uint64_t first_block_;
  std::vector<std::int64_t> by_block_;
  tsl::robin_map<std::uint64_t, std::int64_t> elsewhere_;  // pages may begin before their object
  std::int64_t last_launch_ = -1;
};

/// Objects over pieces: one that outlives a piece is the same object in the next. A dead object
/// adds itself to its blocks and is dropped, unless it is among the most accessed ones.
class HeatObjects {
 public:
  HeatObjects(std::int64_t block_bytes, HeatBlocks& blocks)
      : block_bytes_(block_bytes), blocks_(blocks), unowned_({}, 0, 0) {}

  void BeginPiece(const trace::Trace& piece);
  void EndPiece();

  /// The object of a row of the piece; kNoRow: addresses that no object owns.
  [[nodiscard]] ObjectCounts& Of(RowId row) {
    return row == kNoRow ? unowned_ : of_row_[row] == nullptr ? Begin(row) : *of_row_[row];
  }

  /// Ends all objects, and fills the objects of `heat`.
  void Finish(AccessHeat& heat);

 private:
  /// Identifies an object in two pieces.
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
    HeatObjectInfo info;
    ObjectHeat heat;
  };

  [[nodiscard]] Identity IdentityOf(RowId row) const;
  ObjectCounts& Begin(RowId row);
  void End(const ObjectCounts& object);
  void EndLiving();
  void KeepMost();
  void Describe(AccessHeat& heat) const;

  std::int64_t block_bytes_;
  HeatBlocks& blocks_;
  StringTable names_;
  ObjectNumber num_seen_ = 0;
  std::int64_t num_accessed_ = 0;
  ObjectCounts unowned_;
  std::vector<Total> ended_;
  tsl::robin_map<Identity, std::unique_ptr<ObjectCounts>, IdentityHash> living_;  // between pieces

  // Of the current piece.
  const trace::Trace* piece_ = nullptr;
  std::vector<std::unique_ptr<ObjectCounts>> of_row_;  // null: new, and not accessed so far
  std::vector<ObjectNumber> number_of_row_;
};

}  // namespace orrery::memory
