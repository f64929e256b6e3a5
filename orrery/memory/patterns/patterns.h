#pragma once

#include <array>
#include <cstddef>

#include "orrery/trace/trace.h"

namespace orrery::memory::patterns {

/// A way to waste memory or traffic. For an object that lives from A to D and is accessed first at
/// F and last at L, in the order of launches, copies and sets:
enum class Pattern : std::uint8_t {
  kUnused,               // no access between A and D
  kEarlyAllocation,      // another object is freed between A and F
  kLateDeallocation,     // another object is allocated between L and D
  kLeak,                 // alive at the end, no access during the last steps
  kRedundantAllocation,  // begins while a similar object lives that is not accessed any more
  kTemporaryIdleness,    // two accesses that follow each other are far apart
  kDeadWrite,            // written in full twice with no read between
  kOverallocation,       // only a fraction is touched
  kUnevenAccess,         // counts of pages differ strongly
  kStructuredAccess,     // launches use slices that do not overlap
  kRedundantCopy,        // the same copy again, neither side written between
};

inline constexpr std::size_t kNumPatterns = 11;

[[nodiscard]] std::string_view PatternName(Pattern pattern);

/// Returns advice on how to fix the pattern.
[[nodiscard]] std::string_view Suggestion(Pattern pattern);

struct PatternOptions {
  std::int64_t min_bytes = 1;        // smaller objects are not looked at
  std::int64_t idle_launches = 100;  // temporary idleness: more than so many apart
  std::int64_t leak_steps = 1;       // leak: not accessed in the last so many steps
  double similar_percent = 10;       // redundant allocation: at most so much larger
  double touched_percent = 80;       // overallocation: below this
  double uneven_variation = 1.0;     // uneven access: deviation over mean, above this
};

struct Finding {
  Pattern pattern = Pattern::kUnused;
  RowId object = kNoRow;              // MemoryObjects; of a copy its destination
  RowId other = kNoRow;               // … that could be used instead; the source of a copy
  std::int64_t bytes = 0;             // that the finding is about
  std::int64_t peak_saved_bytes = 0;  // of the highest footprint of the device
  double byte_seconds_saved = 0;
  std::int64_t traffic_saved_bytes = 0;
  bool is_fact = true;
  std::string why_not_fact = {};
  std::string detail = {};
};

struct PatternReport {
  std::vector<Finding> findings;  // by effect: peak, then byte-seconds, then traffic
  std::int64_t num_objects = 0;   // looked at
  std::int64_t peak_bytes = 0;    // of the device that holds most
};

/// Looks for all patterns. By-argument and by-descriptor touches count as accesses. Costs a few
/// passes over the touches and a logarithm for each question about the peak.
[[nodiscard]] PatternReport FindPatterns(const trace::Trace& trace,
                                         const PatternOptions& options = {});

}  // namespace orrery::memory::patterns
