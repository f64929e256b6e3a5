#include "capture/sanitizer/host/object_table.h"

#include <algorithm>
#include <utility>

namespace orrery::capture::sanitizer {
namespace {

// Pages that a range touches, the first and the last perhaps in part.
std::uint64_t PagesOf(const Range& range, std::uint32_t page_shift) {
  return ((range.end - 1) >> page_shift) - (range.begin >> page_shift) + 1;
}

}  // namespace

std::int64_t ObjectSnapshot::Find(std::uint64_t address) const {
  const auto after = std::upper_bound(
      ranges.begin(), ranges.end(), address,
      [](std::uint64_t wanted, const Range& range) { return wanted < range.begin; });
  if (after == ranges.begin() || address >= std::prev(after)->end) {
    return -1;
  }
  return std::prev(after) - ranges.begin();
}

void ObjectTable::Add(std::uint32_t level, std::uint64_t object, std::uint64_t address,
                      std::uint64_t bytes) {
  if (level >= kNumLevels || bytes == 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  Level& pieces = levels_[level];
  const std::uint64_t end = address + bytes;
  const auto first = std::partition_point(pieces.begin(), pieces.end(),
                                          [&](const Piece& piece) { return piece.end <= address; });
  const auto last = std::partition_point(first, pieces.end(),
                                         [&](const Piece& piece) { return piece.begin < end; });
  pieces.insert(pieces.erase(first, last), {address, end, object});
  ++epoch_;
}

bool ObjectTable::Remove(std::uint32_t level, std::uint64_t address) {
  if (level >= kNumLevels) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  Level& pieces = levels_[level];
  const auto found = std::partition_point(
      pieces.begin(), pieces.end(), [&](const Piece& piece) { return piece.begin < address; });
  if (found == pieces.end() || found->begin != address) {
    return false;
  }
  pieces.erase(found);
  ++epoch_;
  return true;
}

std::shared_ptr<const ObjectSnapshot> ObjectTable::Snapshot() {
  const std::lock_guard lock(mutex_);
  if (latest_ == nullptr || latest_->epoch != epoch_) {
    latest_ = Flatten();
  }
  return latest_;
}

// Puts the pieces of an inner level over `flat`: what they cover is theirs, the rest stays.
void ObjectTable::Cover(const Level& inner, Level& flat) {
  Level merged;
  merged.reserve(flat.size() + 2 * inner.size());
  std::size_t next = 0;
  std::uint64_t done = 0;  // below it everything is in `merged`
  const auto keep_until = [&](std::uint64_t limit) {
    while (next < flat.size() && flat[next].begin < limit) {
      const std::uint64_t begin = std::max(flat[next].begin, done);
      const std::uint64_t end = std::min(flat[next].end, limit);
      if (begin < end) {
        merged.push_back({begin, end, flat[next].object});
      }
      if (flat[next].end > limit) {
        return;
      }
      ++next;
    }
  };
  for (const Piece& piece : inner) {
    keep_until(piece.begin);
    merged.push_back(piece);
    done = piece.end;
  }
  keep_until(UINT64_MAX);
  flat = std::move(merged);
}

std::shared_ptr<const ObjectSnapshot> ObjectTable::Flatten() const {
  Level flat = levels_[0];
  for (std::size_t level = 1; level < kNumLevels; ++level) {
    if (!levels_[level].empty()) {
      Cover(levels_[level], flat);
    }
  }
  auto snapshot = std::make_shared<ObjectSnapshot>();
  snapshot->epoch = epoch_;
  snapshot->page_shift = page_shift_;
  snapshot->ranges.reserve(flat.size());
  snapshot->objects.reserve(flat.size());
  snapshot->first_page_bit.reserve(flat.size());
  for (const Piece& piece : flat) {
    const Range range{piece.begin, piece.end};
    snapshot->ranges.push_back(range);
    snapshot->objects.push_back(piece.object);
    snapshot->first_page_bit.push_back(static_cast<std::uint32_t>(snapshot->num_page_bits));
    snapshot->num_page_bits += PagesOf(range, page_shift_);
  }
  return snapshot;
}

}  // namespace orrery::capture::sanitizer
