#pragma once

#include <cstdint>
#include <vector>

#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/lifetimes.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// What is asked of the objects of a trace again and again, prepared once. An object's place is its
/// number in order of address: bytes in several objects are counted by sorting few small numbers.
class ObjectsByAddress {
 public:
  using Place = std::uint32_t;

  static constexpr Place kNowhere = kNoRow;

  explicit ObjectsByAddress(const Lifetimes& lifetimes);

  /// Returns the place of an object that lives at `order`; kNowhere for others and for kNoRow.
  [[nodiscard]] Place AliveAt(RowId object, std::int64_t order) const {
    if (object == kNoRow) {
      return kNowhere;
    }
    const Place place = place_of_[object];
    const Entry& entry = entries_[place];
    return entry.birth <= order && (entry.death < 0 || entry.death > order) ? place : kNowhere;
  }

  [[nodiscard]] const ByteRange& RangeAt(Place place) const { return entries_[place].range; }

  /// Returns the outermost object around it that lives at `order`; itself if there is none.
  [[nodiscard]] Place OutermostAt(Place place, std::int64_t order) const {
    const Place outermost = entries_[place].outermost;
    return outermost != kNowhere ? outermost : SearchOutermost(place, order);
  }

  /// Returns how many different bytes lie in the objects. Sorts the places and drops what comes
  /// again.
  [[nodiscard]] std::int64_t UnionBytes(std::vector<Place>& places) const;

 private:
  struct Entry {
    ByteRange range;
    std::int64_t birth = 0;
    std::int64_t death = 0;
    Place outermost = kNowhere;  // where it is the same all the object's life
    RowId object = kNoRow;
  };

  [[nodiscard]] Place OutermostForLife(RowId object) const;
  [[nodiscard]] Place SearchOutermost(Place place, std::int64_t order) const;

  const Lifetimes* lifetimes_;
  std::vector<Entry> entries_;   // by place
  std::vector<Place> place_of_;  // by row
};

}  // namespace orrery::memory
