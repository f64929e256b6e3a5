#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/memory/timeline/timeline.h"

namespace orrery::memory::timeline {

/// What belongs together in two recordings.
enum class AlignBy : std::uint8_t {
  kProgress,  // the same share of the steps
  kOperator,  // the same outermost operator, in sequence
  kEvent,     // the same number of the change: raw, compares moments that need not be related
};

/// One moment of both: the highest that was in use in it.
struct AlignedMoment {
  std::string label;
  std::int64_t first_bytes = 0;
  std::int64_t second_bytes = 0;

  [[nodiscard]] std::int64_t Difference() const { return second_bytes - first_bytes; }
};

struct Alignment {
  AlignBy by = AlignBy::kProgress;
  std::vector<AlignedMoment> moments;
  std::size_t num_only_first = 0;  // operators or changes without a partner
  std::size_t num_only_second = 0;

  /// The moment at which the two are furthest apart; they must not be empty.
  [[nodiscard]] const AlignedMoment& Furthest() const;

  [[nodiscard]] double MeanDifference() const;
};

/// A timeline and where it is from.
struct AlignedSide {
  const trace::Trace* trace = nullptr;
  const Timeline* timeline = nullptr;
};

/// `num_moments` is for progress. Fails where one side has no operators to align by.
[[nodiscard]] Result<Alignment> Align(const AlignedSide& first, const AlignedSide& second,
                                      AlignBy by, std::size_t num_moments = 20);

}  // namespace orrery::memory::timeline
