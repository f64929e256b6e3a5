#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

/// The time from `begin_ns` up to and without `end_ns`.
struct Interval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  [[nodiscard]] std::int64_t length_ns() const { return end_ns - begin_ns; }

  bool operator==(const Interval&) const = default;
};

/// A union of intervals, kept in order, disjoint, none empty and none touching the next; so equal
/// sets of instants are equal values, and lengths never count an instant twice.
class IntervalSet {
 public:
  IntervalSet() = default;

  /// The union of intervals in any order.
  [[nodiscard]] static IntervalSet Of(std::span<const Interval> intervals);

  /// Adds an interval that begins no earlier than any added before; this is how the rows of a trace
  /// come, and costs no sorting.
  void Append(std::int64_t begin_ns, std::int64_t end_ns);

  [[nodiscard]] std::int64_t length_ns() const;

  /// The length of the part from `begin_ns` to `end_ns`; costs O(log n) and the parts it meets.
  [[nodiscard]] std::int64_t LengthWithin(std::int64_t begin_ns, std::int64_t end_ns) const;

  [[nodiscard]] std::span<const Interval> intervals() const& { return intervals_; }

  /// A loop over the intervals of a temporary would outlive them.
  std::span<const Interval> intervals() const&& = delete;

  [[nodiscard]] bool empty() const { return intervals_.empty(); }

  [[nodiscard]] std::size_t size() const { return intervals_.size(); }

  bool operator==(const IntervalSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

// Linear in the number of intervals; Clipped in those it meets.
[[nodiscard]] IntervalSet Union(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet Intersection(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet Difference(const IntervalSet& a, const IntervalSet& b);
[[nodiscard]] IntervalSet Clipped(const IntervalSet& set, Interval window);

/// Returns the length of the intersection without making it.
[[nodiscard]] std::int64_t OverlapNs(const IntervalSet& a, const IntervalSet& b);

}  // namespace orrery
