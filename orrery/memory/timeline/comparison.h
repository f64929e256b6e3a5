#pragma once

#include <cstddef>
#include <span>

#include "orrery/base/error.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// The key by which two recordings are aligned.
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

/// The spread of the peaks among ranks that form groups of one kind.
struct GroupSpread {
  std::string kind;  // "tensor_parallel"
  std::int64_t num_groups = 0;
  double largest_percent = 0;  // of the largest peak over the smallest, in any group
};

/// The differences in memory between ranks.
struct RankSpread {
  std::int64_t smallest_bytes = 0;
  std::int64_t largest_bytes = 0;
  std::int32_t smallest_rank = -1;
  std::int32_t largest_rank = -1;
  /// Ranks whose changes are the same one by one, in order of their first rank.
  std::vector<std::vector<std::int32_t>> alike;
  /// Kinds of groups of ranks, in order of name.
  std::vector<GroupSpread> groups;

  [[nodiscard]] double Percent() const;
};

/// Compares the devices of all ranks; the host's memory is left out.
[[nodiscard]] RankSpread SpreadOf(std::span<const trace::Trace* const> ranks,
                                  const std::vector<Timeline>& timelines);

}  // namespace orrery::memory::timeline
