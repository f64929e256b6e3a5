#include "orrery/memory/object_map.h"

#include <iterator>

#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/footprint.h"

namespace orrery::memory {


void ObjectMap::AdvanceTo(std::int64_t order) {
  const trace::MemoryObjects& objects = lifetimes_->objects();
  walk_.AdvanceTo(
      order, [&](RowId object) { LevelOf(object).emplace(objects.address[object], object); },
      [&](RowId object) {
        ByAddress& level = LevelOf(object);
        auto [at, end] = level.equal_range(objects.address[object]);
        while (at != end && at->second != object) {
          ++at;
        }
        if (at != end) {
          level.erase(at);
        }
      });
}

RowId ObjectMap::Find(std::uint64_t address) const {
  for (const ByAddress& level : by_level_) {
    const RowId found = FindIn(level, address);
    if (found != kNoRow) {
      return found;
    }
  }
  return kNoRow;
}

ObjectMap::ByAddress& ObjectMap::LevelOf(RowId object) {
  const trace::MemoryClass memory_class = lifetimes_->objects().memory_class[object];
  return by_level_[static_cast<std::size_t>(FootprintClassOf(memory_class))];
}

RowId ObjectMap::FindIn(const ByAddress& objects, std::uint64_t address) const {
  const auto after = objects.upper_bound(address);
  if (after == objects.begin()) {
    return kNoRow;
  }
  const RowId object = std::prev(after)->second;
  const ByteRange range =
      RangeOf(lifetimes_->objects().address[object], lifetimes_->objects().bytes[object]);
  return address < range.end ? object : kNoRow;
}

}  // namespace orrery::memory
