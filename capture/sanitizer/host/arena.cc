#include "capture/sanitizer/host/arena.h"

#include <algorithm>
#include <iterator>

namespace orrery::capture::sanitizer {

std::optional<std::uint64_t> Arena::Take(std::uint64_t bytes) {
  const std::uint64_t rounded = Rounded(bytes);
  const auto fits = [&](const auto& gap) { return gap.second >= rounded; };
  const auto start = free_.lower_bound(next_);
  auto found = std::find_if(start, free_.end(), fits);
  if (found == free_.end()) {
    found = std::find_if(free_.begin(), start, fits);
    if (found == start) {
      return std::nullopt;
    }
  }
  return TakeFrom(found, rounded);
}

std::uint64_t Arena::TakeFrom(Gaps::iterator gap, std::uint64_t bytes) {
  const auto [offset, available] = *gap;
  free_.erase(gap);
  if (available > bytes) {
    free_.emplace(offset + bytes, available - bytes);
  }
  next_ = offset + bytes;
  free_bytes_ -= bytes;
  return offset;
}

void Arena::GiveBack(std::uint64_t offset, std::uint64_t bytes) {
  auto begin = offset;
  auto end = offset + Rounded(bytes);
  free_bytes_ += Rounded(bytes);
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      free_.erase(before);
    }
  }
  if (after != free_.end() && after->first == end) {
    end += after->second;
    free_.erase(after);
  }
  free_.emplace(begin, end - begin);
}

}  // namespace orrery::capture::sanitizer
