#include "orrery/memory/objects_by_address.h"

#include <algorithm>
#include <numeric>

namespace orrery::memory {
namespace {


// Allocation, segment, tensor; a damaged file may say that objects lie in each other.
constexpr int kMaxDepth = 8;

// Few numbers, often in order already: cheaper than a call.
void SortFew(std::vector<ObjectsByAddress::Place>& places) {
  constexpr std::size_t kFew = 32;
  if (places.size() > kFew) {
    std::ranges::sort(places);
    return;
  }
  for (std::size_t i = 1; i < places.size(); ++i) {
    const ObjectsByAddress::Place place = places[i];
    std::size_t to = i;
    for (; to > 0 && places[to - 1] > place; --to) {
      places[to] = places[to - 1];
    }
    places[to] = place;
  }
}

}  // namespace

ObjectsByAddress::ObjectsByAddress(const Lifetimes& lifetimes)
    : lifetimes_(&lifetimes), place_of_(lifetimes.objects().size()) {
  const trace::MemoryObjects& objects = lifetimes.objects();
  std::vector<RowId> rows(objects.size());
  std::iota(rows.begin(), rows.end(), RowId{0});
  std::ranges::stable_sort(rows, {}, [&](RowId row) { return objects.address[row]; });
  entries_.reserve(rows.size());
  for (const RowId row : rows) {
    place_of_[row] = static_cast<Place>(entries_.size());
    entries_.push_back({.range = RangeOf(objects.address[row], objects.bytes[row]),
                        .birth = objects.birth_order[row],
                        .death = objects.death_order[row],
                        .object = row});
  }
  for (Entry& entry : entries_) {
    entry.outermost = OutermostForLife(entry.object);
  }
}

std::int64_t ObjectsByAddress::UnionBytes(std::vector<Place>& places) const {
  SortFew(places);
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
    if (++depth > kMaxDepth || !lifetimes_->LivesAround(parent, object)) {
      return kNowhere;
    }
    outermost = parent;
  }
  return place_of_[outermost];
}

ObjectsByAddress::Place ObjectsByAddress::SearchOutermost(Place place, std::int64_t order) const {
  Place outermost = place;
  for (const RowId around : lifetimes_->Around(entries_[place].object)) {
    const Place alive = AliveAt(around, order);
    outermost = alive == kNowhere ? outermost : alive;
  }
  return outermost;
}

}  // namespace orrery::memory
