#include "orrery/base/math/interval_set.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {
namespace {

// Calls `visit(begin, end)` for each part that lies in both sets.
template <typename Visit>
void ForEachCommonPart(std::span<const Interval> a, std::span<const Interval> b, Visit&& visit) {
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.size() && j < b.size()) {
    const std::int64_t begin = std::max(a[i].begin_ns, b[j].begin_ns);
    const std::int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    if (begin < end) {
      visit(begin, end);
    }
    (a[i].end_ns < b[j].end_ns ? i : j) += 1;
  }
}

}  // namespace

IntervalSet IntervalSet::Of(std::span<const Interval> intervals) {
  std::vector<Interval> sorted(intervals.begin(), intervals.end());
  std::ranges::sort(sorted, {}, &Interval::begin_ns);
  IntervalSet set;
  for (const Interval& interval : sorted) {
    set.Append(interval.begin_ns, interval.end_ns);
  }
  return set;
}

void IntervalSet::Append(std::int64_t begin_ns, std::int64_t end_ns) {
  if (begin_ns >= end_ns) {
    return;
  }
  if (!intervals_.empty() && begin_ns <= intervals_.back().end_ns) {
    intervals_.back().end_ns = std::max(intervals_.back().end_ns, end_ns);
  } else {
    intervals_.push_back({begin_ns, end_ns});
  }
}

std::int64_t IntervalSet::length_ns() const {
  std::int64_t total = 0;
  for (const Interval& interval : intervals_) {
    total += interval.length_ns();
  }
  return total;
}

std::int64_t IntervalSet::LengthWithin(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::int64_t total = 0;
  auto part = std::ranges::upper_bound(intervals_, begin_ns, {}, &Interval::end_ns);
  for (; part != intervals_.end() && part->begin_ns < end_ns; ++part) {
    total += std::min(part->end_ns, end_ns) - std::max(part->begin_ns, begin_ns);
  }
  return total;
}

IntervalSet Union(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet both;
  const auto left = a.intervals();
  const auto right = b.intervals();
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < left.size() || j < right.size()) {
    const bool take_left =
        j == right.size() || (i < left.size() && left[i].begin_ns <= right[j].begin_ns);
    const Interval& next = take_left ? left[i++] : right[j++];
    both.Append(next.begin_ns, next.end_ns);
  }
  return both;
}

IntervalSet Intersection(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet common;
  ForEachCommonPart(a.intervals(), b.intervals(),
                    [&](std::int64_t begin, std::int64_t end) { common.Append(begin, end); });
  return common;
}

IntervalSet Difference(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet rest;
  const auto holes = b.intervals();
  std::size_t hole = 0;
  for (const Interval& whole : a.intervals()) {
    std::int64_t begin = whole.begin_ns;
    while (hole < holes.size() && holes[hole].end_ns <= begin) {
      ++hole;
    }
    for (std::size_t i = hole; i < holes.size() && holes[i].begin_ns < whole.end_ns; ++i) {
      rest.Append(begin, std::min(holes[i].begin_ns, whole.end_ns));
      begin = std::max(begin, holes[i].end_ns);
    }
    rest.Append(begin, whole.end_ns);
  }
  return rest;
}

IntervalSet Clipped(const IntervalSet& set, Interval window) {
  IntervalSet part;
  const auto all = set.intervals();
  auto next = std::ranges::upper_bound(all, window.begin_ns, {}, &Interval::end_ns);
  for (; next != all.end() && next->begin_ns < window.end_ns; ++next) {
    part.Append(std::max(next->begin_ns, window.begin_ns), std::min(next->end_ns, window.end_ns));
  }
  return part;
}

std::int64_t OverlapNs(const IntervalSet& a, const IntervalSet& b) {
  std::int64_t total = 0;
  ForEachCommonPart(a.intervals(), b.intervals(),
                    [&](std::int64_t begin, std::int64_t end) { total += end - begin; });
  return total;
}

}  // namespace orrery
