#include "orrery/memory/byte_ranges.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

namespace orrery::memory {

ByteRange RangeOf(std::uint64_t address, std::int64_t bytes) {
  const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - address;
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
  return {.begin = address, .end = address + std::min(size, room)};
}

ByteRange RangeOfPages(std::uint64_t address, std::int64_t num_pages, std::int64_t page_bytes) {
  if (page_bytes <= 0 || num_pages <= 0) {
    return RangeOf(address, 0);
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return RangeOf(address, num_pages > kMost / page_bytes ? kMost : num_pages * page_bytes);
}

ByteRange Intersection(const ByteRange& a, const ByteRange& b) {
  const std::uint64_t begin = std::max(a.begin, b.begin);
  return {.begin = begin, .end = std::max(begin, std::min(a.end, b.end))};
}

std::int64_t UnionBytes(std::vector<ByteRange>& ranges) {
  std::ranges::sort(ranges, {}, &ByteRange::begin);
  std::int64_t total = 0;
  std::uint64_t end = 0;
  for (const ByteRange& range : ranges) {
    const ByteRange fresh{.begin = std::max(range.begin, end), .end = range.end};
    total += fresh.size();
    end = std::max(end, range.end);
  }
  return total;
}

void CoveredBytes::Add(const ByteRange& range) {
  Change(range, 1);
}

void CoveredBytes::Remove(const ByteRange& range) {
  Change(range, -1);
}

CoveredBytes::Depths::iterator CoveredBytes::SplitAt(std::uint64_t address) {
  const auto next = depth_from_.lower_bound(address);
  if (next != depth_from_.end() && next->first == address) {
    return next;
  }
  const std::int64_t depth = next == depth_from_.begin() ? 0 : std::prev(next)->second;
  return depth_from_.emplace_hint(next, address, depth);
}

// Returns the next part; one that would go beyond `end` ends there.
CoveredBytes::Depths::iterator CoveredBytes::SplitBehind(Depths::iterator part, std::uint64_t end) {
  const auto next = std::next(part);
  return next == depth_from_.end() || next->first > end
             ? depth_from_.emplace_hint(next, end, part->second)
             : next;
}

// Removes a boundary at which the depth does not change.
void CoveredBytes::Join(Depths::iterator at) {
  const std::int64_t before = at == depth_from_.begin() ? 0 : std::prev(at)->second;
  if (at->second == before) {
    depth_from_.erase(at);
  }
}

void CoveredBytes::Change(const ByteRange& range, std::int64_t by) {
  if (range.size() == 0) {
    return;
  }
  const auto first = SplitAt(range.begin);
  auto part = first;
  while (part->first != range.end) {
    const auto next = SplitBehind(part, range.end);
    const auto length = static_cast<std::int64_t>(next->first - part->first);
    const bool was_covered = part->second > 0;
    part->second += by;
    const bool is_covered = part->second > 0;
    size_ += is_covered == was_covered ? 0 : is_covered ? length : -length;
    part = next;
  }
  Join(part);
  Join(first);
}

}  // namespace orrery::memory
