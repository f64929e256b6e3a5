#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/memory/patterns/object_use.h"

namespace orrery::memory::patterns {

/// Addresses from `begin` up to `end`; `accesses` is for each page, -1: not counted.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::int64_t accesses = -1;

  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(end - begin); }
};

/// What an access reaches of its object, clipped to it, in order of address and without overlap:
/// its pages, else its extent, else all of it.
[[nodiscard]] std::vector<AddressRange> ReachOf(const ObjectUses& uses, const Use& use,
                                                const Access& access);

/// The pages of an access as recorded; empty: not recorded.
[[nodiscard]] std::vector<AddressRange> PagesOf(const ObjectUses& uses, const Use& use,
                                                const Access& access);

[[nodiscard]] std::int64_t TouchedBytes(const ObjectUses& uses, const Use& use,
                                        const Access& access);

/// Joins ranges that overlap or touch; counts are lost.
[[nodiscard]] std::vector<AddressRange> Joined(std::vector<AddressRange> ranges);

[[nodiscard]] std::int64_t BytesOf(const std::vector<AddressRange>& ranges);

}  // namespace orrery::memory::patterns
