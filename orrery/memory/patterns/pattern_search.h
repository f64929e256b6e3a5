#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/memory/patterns/finding.h"
#include "orrery/memory/patterns/footprint.h"
#include "orrery/memory/patterns/object_use.h"

namespace orrery::memory::patterns {

/// A part of a life in which bytes could be saved.
struct Stretch {
  std::int64_t begin = 0;  // orders
  std::int64_t end = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// What all patterns are looked for with, and where findings go.
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
  [[nodiscard]] Stretch WholeLife(const Use& use) const;

  /// Adds a finding; its effect is that of `bytes` fewer in the stretch. It is no fact where
  /// launches of the life were not fully seen, or for the reason that is given.
  Finding& Add(Pattern pattern, const Use& use, std::int64_t bytes, const Stretch& stretch,
               std::string why_not_fact = {});

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
