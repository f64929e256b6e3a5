#include "orrery/memory/live_objects.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/memory/byte_ranges.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::memory {
namespace {

using trace::MemoryClass;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// Allocation, segment, tensor; in a damaged file objects may contain each other.
constexpr int kMaxDepth = 8;

}  // namespace

Lifetimes::Lifetimes(const trace::MemoryObjects& objects) : objects_(&objects) {
  for (RowId row = 0; row < objects.size(); ++row) {
    const std::int64_t death = objects.death_order[row];
    if (death >= 0 && death <= objects.birth_order[row]) {
      continue;  // alive at no order
    }
    by_birth_.push_back(row);
    if (death >= 0) {
      by_death_.push_back(row);
    }
  }
  std::ranges::stable_sort(by_birth_, {}, [&](RowId row) { return objects.birth_order[row]; });
  std::ranges::stable_sort(by_death_, {}, [&](RowId row) { return objects.death_order[row]; });
}

bool Lifetimes::LifetimeContains(RowId outer, RowId inner) const {
  const std::int64_t death = objects_->death_order[outer];
  const std::int64_t inner_death = objects_->death_order[inner];
  return objects_->birth_order[outer] <= objects_->birth_order[inner] &&
         (death < 0 || (inner_death >= 0 && inner_death <= death));
}

std::vector<RowId> Lifetimes::Enclosing(RowId object) const {
  std::vector<RowId> enclosing;
  // In a damaged file objects may contain each other.
  for (RowId parent = objects_->parent[object];
       parent != kNoRow && enclosing.size() < objects_->size(); parent = objects_->parent[parent]) {
    enclosing.push_back(parent);
  }
  return enclosing;
}

std::int64_t LifetimeWalk::NextBirth() const {
  const auto rows = lifetimes_->by_birth();
  return next_birth_ < rows.size() ? lifetimes_->objects().birth_order[rows[next_birth_]] : kNever;
}

std::int64_t LifetimeWalk::NextDeath() const {
  const auto rows = lifetimes_->by_death();
  return next_death_ < rows.size() ? lifetimes_->objects().death_order[rows[next_death_]] : kNever;
}

FootprintClass FootprintClassOf(MemoryClass memory_class) {
  return memory_class == MemoryClass::kTensor    ? FootprintClass::kTensor
         : memory_class == MemoryClass::kSegment ? FootprintClass::kSegment
                                                 : FootprintClass::kOther;
}

std::string_view FootprintClassName(FootprintClass footprint_class) {
  constexpr std::array<std::string_view, kNumFootprintClasses> kNames{"tensors", "segments",
                                                                      "from the driver"};
  return kNames[static_cast<std::size_t>(footprint_class)];
}

void ObjectMap::AdvanceTo(std::int64_t order) {
  const trace::MemoryObjects& objects = lifetimes_->objects();
  walk_.AdvanceTo(
      order, [&](RowId object) { LevelOf(object).emplace(objects.address[object], object); },
      [&](RowId object) {
        ByAddress& level = LevelOf(object);
        const auto [first, end] = level.equal_range(objects.address[object]);
        const auto found =
            std::find_if(first, end, [&](const auto& entry) { return entry.second == object; });
        if (found != end) {
          level.erase(found);
        }
      });
}

RowId ObjectMap::Find(std::uint64_t address) const {
  for (const ByAddress& level : by_level_) {
    const auto after = level.upper_bound(address);
    if (after != level.begin() &&
        address < lifetimes_->RangeOfObject(std::prev(after)->second).end) {
      return std::prev(after)->second;
    }
  }
  return kNoRow;
}

ObjectMap::ByAddress& ObjectMap::LevelOf(RowId object) {
  const MemoryClass memory_class = lifetimes_->objects().memory_class[object];
  return by_level_[static_cast<std::size_t>(FootprintClassOf(memory_class))];
}

ObjectsByAddress::ObjectsByAddress(const Lifetimes& lifetimes)
    : lifetimes_(&lifetimes), place_of_(lifetimes.objects().size()) {
  std::vector<RowId> rows(place_of_.size());
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::ranges::stable_sort(rows, {}, [&](RowId row) { return lifetimes.objects().address[row]; });
  for (const RowId row : rows) {
    place_of_[row] = static_cast<Place>(entries_.size());
    entries_.push_back({.range = lifetimes.RangeOfObject(row), .object = row});
  }
  for (Entry& entry : entries_) {
    entry.outermost = OutermostForLife(entry.object);
  }
}

std::int64_t ObjectsByAddress::UnionBytes(std::vector<Place>& places) const {
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  std::int64_t total = 0;
  std::uint64_t end = 0;
  for (const Place place : places) {
    const ByteRange& range = RangeAt(place);
    total += ByteRange{.begin = std::max(range.begin, end), .end = range.end}.size();
    end = std::max(end, range.end);
  }
  return total;
}

ObjectsByAddress::Place ObjectsByAddress::OutermostForLife(RowId object) const {
  RowId outermost = object;
  int depth = 0;
  for (RowId parent = lifetimes_->objects().parent[object]; parent != kNoRow;
       parent = lifetimes_->objects().parent[parent]) {
    if (++depth > kMaxDepth || !lifetimes_->LifetimeContains(parent, object)) {
      return kNowhere;
    }
    outermost = parent;
  }
  return place_of_[outermost];
}

ObjectsByAddress::Place ObjectsByAddress::OutermostAt(Place place, std::int64_t order) const {
  if (entries_[place].outermost != kNowhere) {
    return entries_[place].outermost;
  }
  Place outermost = place;
  for (const RowId enclosing : lifetimes_->Enclosing(entries_[place].object)) {
    const Place alive = AliveAt(enclosing, order);
    outermost = alive == kNowhere ? outermost : alive;
  }
  return outermost;
}

const Footprint& FootprintWalk::At(std::int64_t order) {
  walk_.AdvanceTo(
      order, [&](RowId object) { Change(object, &CoveredBytes::Add); },
      [&](RowId object) { Change(object, &CoveredBytes::Remove); });
  return footprint_;
}

// Tensors come and go in segments that stay: an object inside its parent, which it does not
// outlive, adds no byte to the total.
void FootprintWalk::Change(RowId object, void (CoveredBytes::*change)(const ByteRange&)) {
  const ByteRange range = lifetimes_->RangeOfObject(object);
  const auto index =
      static_cast<std::size_t>(FootprintClassOf(lifetimes_->objects().memory_class[object]));
  (by_class_[index].*change)(range);
  footprint_.class_bytes[index] = by_class_[index].size();
  const RowId parent = lifetimes_->objects().parent[object];
  const bool is_inside = parent != kNoRow && parent < object &&
                         lifetimes_->LifetimeContains(parent, object) &&
                         Intersection(lifetimes_->RangeOfObject(parent), range) == range;
  if (!is_inside) {
    (all_.*change)(range);
    footprint_.total_bytes = all_.size();
  }
}

}  // namespace orrery::memory
