#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/string_table.h"
#include "orrery/memory/heat.h"

namespace orrery::memory {

/// What is kept of an object that accesses went to.
struct HeatObjectFacts {
  ObjectNumber number = kNoObject;
  StringId word = StringId::kEmpty;  // of HeatObjects
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

  InWindow latest = {};                // without accesses: there are none at all
  std::vector<InWindow> earlier = {};  // windows before, in order
  std::int64_t num_objects = 0;
  std::int64_t most_accesses = 0;  // of one object
  HeatObjectFacts favourite = {};  // the one

  /// Takes in what one object had here in all.
  void AddObject(const HeatObjectFacts& object, std::int64_t accesses);
};

/// Blocks by their number: address by size.
class HeatBlocks {
 public:
  [[nodiscard]] CountedBlock& At(std::uint64_t block) {
    if (last_ == nullptr || block / kGroup != last_number_) {
      FindGroup(block / kGroup);
    }
    return (*last_)[block % kGroup];
  }

  /// There are accesses.
  void Add(CountedBlock& block, std::uint32_t window, std::int64_t accesses) {
    if (block.latest.window == window && block.latest.accesses > 0) {
      block.latest.accesses += accesses;
    } else {
      AddToOther(block, window, accesses);
    }
  }

  /// Puts pairs of windows together.
  void HalveWindows();

  [[nodiscard]] std::size_t num_cells() const { return num_cells_; }

  /// All blocks with accesses in order, those of `heat` that are about blocks and cells.
  void Finish(std::int64_t block_bytes, AccessHeat& heat) const;

  /// The objects that blocks name.
  [[nodiscard]] std::vector<HeatObjectFacts> Favourites() const;

 private:
  static constexpr std::uint64_t kGroup = 64;

  // Blocks come in neighbourhoods: one search finds many.
  using Group = std::array<CountedBlock, kGroup>;

  void FindGroup(std::uint64_t number);
  void AddToOther(CountedBlock& block, std::uint32_t window, std::int64_t accesses);
  void HalveWindows(CountedBlock& block);

  tsl::robin_map<std::uint64_t, std::unique_ptr<Group>> groups_;
  std::uint64_t last_number_ = 0;
  Group* last_ = nullptr;
  std::size_t num_cells_ = 0;
};

}  // namespace orrery::memory
