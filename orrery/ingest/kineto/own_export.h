#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/kineto/assembler.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest::kineto {

/// A rank of a file, before its rows are linked.
struct FileRank {
  trace::Trace trace = {};
  std::vector<std::pair<FlowEnd, FlowEnd>> arrows = {};  // from forward to backward operators

  // In files that Orrery wrote: the rank's state before the export.
  std::optional<trace::TraceInfo> info = {};
  trace::ProblemLog problems = {};
  trace::RankClock clock = {};  // by which its times were moved
};

struct FileRanks {
  std::vector<FileRank> ranks;
  std::optional<trace::WorkloadCard> card;
  trace::ProblemLog problems;  // of the run
};

/// Undoes what Orrery's own export adds to a file of the profiler: drops the rows that it derived
/// (categories "orrery_…", curves of allocated memory), puts rows that had to move aside to a
/// thread of their own back to their track, and takes the ranks of a run apart. Files of others are
/// one rank and left alone.
[[nodiscard]] Result<FileRanks> UndoExport(FileRank file, bool has_several_ranks);

/// Moves the times of a rank back to its own clock.
void UndoAlignment(FileRank& rank);

}  // namespace orrery::ingest::kineto
