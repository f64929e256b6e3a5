#include "orrery/memory/patterns/footprint.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

namespace orrery::memory::patterns {
namespace {

bool IsAnyBetween(const std::vector<std::int64_t>& sorted, std::int64_t after,
                  std::int64_t before) {
  const auto found = std::upper_bound(sorted.begin(), sorted.end(), after);
  return found != sorted.end() && *found < before;
}

}  // namespace

Footprint::Footprint(const ObjectUses& uses, std::int32_t device) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // order, bytes
  for (const Use& use : uses.all()) {
    if (uses.DeviceOf(use) != device) {
      continue;
    }
    changes.emplace_back(use.birth, uses.BytesOf(use));
    births_.push_back(use.birth);
    if (use.is_freed()) {
      changes.emplace_back(use.death, -uses.BytesOf(use));
      deaths_.push_back(use.death);
    }
  }
  std::sort(changes.begin(), changes.end());
  std::sort(births_.begin(), births_.end());
  std::sort(deaths_.begin(), deaths_.end());
  std::vector<std::int64_t> bytes;
  std::int64_t total = 0;
  for (const auto& [order, change] : changes) {
    total += change;
    if (orders_.empty() || orders_.back() != order) {
      orders_.push_back(order);
      bytes.push_back(0);
    }
    bytes.back() = total;
  }
  BuildMaxima(std::move(bytes));
  peak_bytes_ = HighestIn(0, orders_.size());
}

std::int64_t Footprint::Saved(std::int64_t bytes, std::int64_t begin, std::int64_t end) const {
  if (begin >= end || orders_.empty()) {
    return 0;
  }
  // The stretch in which `begin` falls counts on both sides.
  const auto at_begin = std::upper_bound(orders_.begin(), orders_.end(), begin);
  const auto at_end = std::lower_bound(orders_.begin(), orders_.end(), end);
  const auto first =
      static_cast<std::size_t>(std::max<std::ptrdiff_t>(at_begin - orders_.begin() - 1, 0));
  const auto last = static_cast<std::size_t>(at_end - orders_.begin());
  const bool begins_inside = first < orders_.size() && orders_[first] < begin;
  const std::size_t first_inside = first;
  const std::size_t end_before = begins_inside ? first + 1 : first;
  std::int64_t rest = std::max(HighestIn(0, end_before), HighestIn(last, orders_.size()));
  if (last > 0 && end != kAfterAll && (last == orders_.size() || orders_[last] > end)) {
    rest = std::max(rest, HighestIn(last - 1, last));
  }
  rest = std::max(rest, HighestIn(first_inside, last) - bytes);
  return std::max<std::int64_t>(peak_bytes_ - rest, 0);
}

bool Footprint::IsAnyFreed(std::int64_t after, std::int64_t before) const {
  return IsAnyBetween(deaths_, after, before);
}

bool Footprint::IsAnyBorn(std::int64_t after, std::int64_t before) const {
  return IsAnyBetween(births_, after, before);
}

void Footprint::BuildMaxima(std::vector<std::int64_t> bytes) {
  maxima_.push_back(std::move(bytes));
  for (std::size_t length = 2; length <= orders_.size(); length *= 2) {
    const std::vector<std::int64_t>& shorter = maxima_.back();
    std::vector<std::int64_t> longer(orders_.size() - length + 1);
    for (std::size_t i = 0; i < longer.size(); ++i) {
      longer[i] = std::max(shorter[i], shorter[i + length / 2]);
    }
    maxima_.push_back(std::move(longer));
  }
}

std::int64_t Footprint::HighestIn(std::size_t first, std::size_t last) const {
  if (first >= last) {
    return 0;
  }
  const auto level = static_cast<std::size_t>(std::bit_width(last - first)) - 1;
  return std::max(maxima_[level][first], maxima_[level][last - (std::size_t{1} << level)]);
}

}  // namespace orrery::memory::patterns
