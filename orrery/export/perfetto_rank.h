#pragma once

#include <cstdint>

#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/perfetto_tracks.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting::perfetto {

/// All that is needed to write one rank.
struct Rank {
  const trace::Trace& trace;
  const RankLayout& layout;
  RankTracks& tracks;
  std::uint64_t index = 0;   // among the ranks of the set
  std::int64_t zero_ns = 0;  // what time stamps count from
};

/// Writes the slices of a rank, with arrows between them, in order of time.
void WriteSlices(const Rank& rank, Sequence& sequence);

/// Writes counters, memory events, marks and the arrows that belong to no slice, in order of time.
void WritePoints(const Rank& rank, Sequence& sequence);

/// Numbers for arrows, unique in the file: those of different ranks and uses never meet.
enum class FlowUse : std::uint64_t { kLaunch, kBackward, kOther };

[[nodiscard]] inline std::uint64_t FlowId(const Rank& rank, FlowUse use, RowId row) {
  return ((rank.index * 4 + static_cast<std::uint64_t>(use) + 1) << 32U) | row;
}

}  // namespace orrery::exporting::perfetto
