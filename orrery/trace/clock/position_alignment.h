#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace orrery::trace {

/// One collective of a rank.
struct SequenceItem {
  std::uint64_t signature = 0;  // equal for equal kind, type and size
  std::int64_t end_ns = 0;
};

/// Information from step markers about two sequences.
struct StepHints {
  std::int64_t items_per_step = 0;                  // 0: no steps
  std::optional<std::int64_t> shift_by_steps = {};  // reference position - other position
};

inline constexpr std::int64_t kNoPosition = std::numeric_limits<std::int64_t>::min();

/// The positions of the items of a sequence in a reference sequence.
struct PositionAlignment {
  enum class Method {
    kShift,        // item i is at position i + shift, which may lie outside the reference
    kSubsequence,  // by the longest common subsequence
    kNone,         // the sequences have too little in common
  };

  Method method = Method::kNone;
  bool ambiguous = false;   // another shift fits about as well
  bool search_cut = false;  // a limit stopped the search for a shift or a subsequence
  std::int64_t shift = 0;
  std::vector<std::int64_t> positions = {};  // kSubsequence: for each item, or kNoPosition

  [[nodiscard]] std::int64_t PositionOf(std::size_t item) const;
};

/// Finds how `other` lies against `reference` when neither has numbers.
///
/// Profiles start and stop at different collectives, so every shift up to 16 places, then up to a
/// step, then any, is tried until one agrees in all signatures of a sufficient overlap and in time.
/// Among shifts that agree, the one whose differences of end times scatter least wins: the scatter
/// does not change with the offset between two clocks. Of shifts that scatter equally little
/// the one with the smallest offset wins; when that is no clear difference (20 %), step markers
/// decide; and when these do not help, the answer is ambiguous. When no shift agrees, equal numbers
/// of items are paired as they stand if that explains the sequences as well as a longest common
/// subsequence does; else the subsequence decides.
///
/// Costs O(n) for all shifts (Z function), 1,024 samples for each shift, and 2,048 edits.
[[nodiscard]] PositionAlignment AlignPositions(std::span<const SequenceItem> reference,
                                               std::span<const SequenceItem> other,
                                               const StepHints& hints = {});

}  // namespace orrery::trace
