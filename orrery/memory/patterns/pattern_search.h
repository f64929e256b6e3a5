#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>

#include "orrery/memory/patterns/patterns.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::patterns {

inline constexpr std::int64_t kBeforeAll = -1;
inline constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();

/// One touch of an object. What is known by argument or descriptor may read and may write.
struct Access {
  std::size_t position = 0;  // of the work item in RecordedWork
  std::int64_t order = 0;
  RowId touch = kNoRow;
  bool may_read = false;
  bool may_write = false;
  bool is_counted = false;
};

/// The life of an object and its accesses in order.
struct Use {
  RowId object = kNoRow;
  std::int64_t birth = kBeforeAll;  // orders
  std::int64_t death = kAfterAll;
  std::vector<Access> accesses = {};

  [[nodiscard]] bool is_from_before() const { return birth == kBeforeAll; }

  [[nodiscard]] bool is_freed() const { return death != kAfterAll; }
};

/// The uses of a recording's objects: tensors, and allocations without tensors. Segments, static
/// data and memory of the host are left out.
class ObjectUses {
 public:
  /// Keeps a reference to the work.
  explicit ObjectUses(const RecordedWork& work);

  [[nodiscard]] std::span<const Use> all() const { return uses_; }

  /// The use of an object; nullptr: not one of them.
  [[nodiscard]] const Use* Of(RowId object) const {
    const bool is_used = object != kNoRow && use_of_object_[object] != kNoUse;
    return is_used ? &uses_[use_of_object_[object]] : nullptr;
  }

  [[nodiscard]] const RecordedWork& work() const { return *work_; }

  [[nodiscard]] const trace::Trace& trace() const { return work_->trace(); }

  [[nodiscard]] std::int64_t BytesOf(const Use& use) const {
    return trace().memory_objects.bytes[use.object];
  }

  [[nodiscard]] std::int32_t DeviceOf(const Use& use) const {
    return trace().memory_objects.device[use.object];
  }

  /// Launches from an order on up to another whose accesses were not all seen.
  [[nodiscard]] std::int64_t NumPartlyObserved(std::int64_t begin, std::int64_t end) const;

  // Times for byte-seconds.
  [[nodiscard]] std::int64_t BirthNs(const Use& use) const {
    return trace().memory_objects.begin_ns[use.object];
  }

  /// The end of the recording for objects that are never freed.
  [[nodiscard]] std::int64_t DeathNs(const Use& use) const {
    const std::int64_t duration_ns = trace().memory_objects.duration_ns[use.object];
    return duration_ns < 0 ? end_ns_ : BirthNs(use) + duration_ns;
  }

  [[nodiscard]] std::int64_t BeginNs(const Access& access) const {
    return trace().activities.begin_ns[trace().touches.activity[access.touch]];
  }

  [[nodiscard]] std::int64_t EndNs(const Access& access) const {
    return BeginNs(access) + trace().activities.duration_ns[trace().touches.activity[access.touch]];
  }

 private:
  void ChooseObjects();
  void AddAccesses();
  static constexpr std::uint32_t kNoUse = std::numeric_limits<std::uint32_t>::max();

  const RecordedWork* work_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> use_of_object_;
  std::vector<std::int64_t> partly_observed_;  // of launches that were not fully seen, ascending
  std::int64_t end_ns_ = 0;
};

/// The bytes in use on one device over births and deaths, and what the peak would be if an object
/// had lived another life. A question costs a look-up in tables of maxima over powers of two.
class Footprint {
 public:
  Footprint(const ObjectUses& uses, std::int32_t device);

  [[nodiscard]] std::int64_t peak_bytes() const { return peak_bytes_; }

  /// Returns how much lower the peak is if `bytes` fewer are in use from one order up to another.
  [[nodiscard]] std::int64_t Saved(std::int64_t bytes, std::int64_t begin, std::int64_t end) const;

  /// Returns true if an object is freed, or born, between two orders, both excluded.
  [[nodiscard]] bool IsAnyFreed(std::int64_t after, std::int64_t before) const {
    return IsAnyBetween(deaths_, after, before);
  }

  [[nodiscard]] bool IsAnyBorn(std::int64_t after, std::int64_t before) const {
    return IsAnyBetween(births_, after, before);
  }

 private:
  static bool IsAnyBetween(const std::vector<std::int64_t>& sorted, std::int64_t after,
                           std::int64_t before) {
    const auto found = std::ranges::upper_bound(sorted, after);
    return found != sorted.end() && *found < before;
  }

  void BuildMaxima(std::vector<std::int64_t> bytes);
  [[nodiscard]] std::int64_t HighestIn(std::size_t first, std::size_t last) const;  // 0: empty

  std::vector<std::int64_t> orders_;  // bytes_after_[i] holds from orders_[i] on
  std::vector<std::vector<std::int64_t>> maxima_;
  std::vector<std::int64_t> births_;
  std::vector<std::int64_t> deaths_;
  std::int64_t peak_bytes_ = 0;
};

/// Addresses from `begin` up to `end`; `accesses` is for each page, -1: not counted.
struct AddressRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::int64_t accesses = -1;

  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(end - begin); }
};

/// Returns the part of its object that an access reaches, clipped to it, in order of address and
/// without overlap: its pages, else its extent, else all of it.
[[nodiscard]] std::vector<AddressRange> ReachOf(const ObjectUses& uses, const Use& use,
                                                const Access& access);

/// The pages of an access as recorded; empty: not recorded.
[[nodiscard]] std::vector<AddressRange> PagesOf(const ObjectUses& uses, const Use& use,
                                                const Access& access);

/// Joins ranges that overlap or touch; counts are lost.
[[nodiscard]] std::vector<AddressRange> Joined(std::vector<AddressRange> ranges);

[[nodiscard]] std::int64_t BytesOf(const std::vector<AddressRange>& ranges);

/// A part of a life in which bytes could be saved.
struct LifetimeInterval {
  std::int64_t begin = 0;  // orders
  std::int64_t end = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// The data in which all patterns are searched, and the findings.
class PatternSearch {
 public:
  PatternSearch(const ObjectUses& uses, const PatternOptions& options);

  [[nodiscard]] const ObjectUses& uses() const { return *uses_; }

  [[nodiscard]] const trace::Trace& trace() const { return uses_->trace(); }

  [[nodiscard]] const PatternOptions& options() const { return options_; }

  [[nodiscard]] const Footprint& FootprintOf(const Use& use) const {
    return footprint_of_device_.at(uses_->DeviceOf(use));
  }

  [[nodiscard]] bool IsLargeEnough(const Use& use) const {
    return uses_->BytesOf(use) >= options_.min_bytes;
  }

  /// All of a life, up to the end of the recording.
  [[nodiscard]] LifetimeInterval WholeLife(const Use& use) const;

  /// Adds a finding; its effect is that of `bytes` fewer in the interval. The finding is not
  /// certain if launches of the lifetime were not fully seen, or for the given reason.
  Finding& Add(Pattern pattern, const Use& use, std::int64_t bytes,
               const LifetimeInterval& interval, std::string why_not_fact = {});

  [[nodiscard]] std::vector<Finding> TakeFindings() { return std::move(findings_); }

 private:
  const ObjectUses* uses_;
  PatternOptions options_;
  std::map<std::int32_t, Footprint> footprint_of_device_;
  std::vector<Finding> findings_;
};

// One function for each family; they look at every object.

/// Unused, early, late, leak, idle: what follows from the orders of a life.
void FindLifePatterns(PatternSearch& search);

/// Objects that could take the place of others.
void FindRedundantAllocations(PatternSearch& search);

/// Dead writes and redundant copies.
void FindWritePatterns(PatternSearch& search);

/// Overallocation, uneven and structured access: what follows from pages.
void FindPagePatterns(PatternSearch& search);

}  // namespace orrery::memory::patterns
