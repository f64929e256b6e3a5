#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "orrery/memory/lifetimes.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Says which live object owns an address, at orders that ascend: a tensor before the segment that
/// it lies in, a segment before its allocation. An address in a gap, at an object's end or below
/// all of them belongs to nobody (kNoRow).
class ObjectMap {
 public:
  explicit ObjectMap(const Lifetimes& lifetimes) : lifetimes_(&lifetimes), walk_(lifetimes) {}

  void AdvanceTo(std::int64_t order);

  [[nodiscard]] RowId Find(std::uint64_t address) const;

 private:
  static constexpr std::size_t kNumLevels = 3;

  // Of several objects at one address, the one that was born last is the last.
  using ByAddress = std::multimap<std::uint64_t, RowId>;

  [[nodiscard]] ByAddress& LevelOf(RowId object);
  [[nodiscard]] RowId FindIn(const ByAddress& objects, std::uint64_t address) const;

  const Lifetimes* lifetimes_;
  LifetimeWalk walk_;
  std::array<ByAddress, kNumLevels> by_level_;  // in the order of FootprintClass
};

}  // namespace orrery::memory
