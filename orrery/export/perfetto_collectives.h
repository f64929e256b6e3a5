#pragma once

#include <cstdint>
#include <span>

#include "orrery/export/collective_spans.h"
#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/perfetto_tracks.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting::perfetto {

/// Where the tracks of the collectives hang, and what time stamps count from.
struct CollectivesPlace {
  std::uint64_t parent = 0;
  std::int32_t order = 0;
  std::int64_t zero_ns = 0;
};

/// Writes a track "collectives" with one track for each group and a slice for each collective,
/// from the first arrival to the last end.
void WriteCollectives(const trace::TraceSet& set, std::span<const CollectiveSpan> collectives,
                      const CollectivesPlace& place, TrackUuids& uuids, Sequence& sequence);

}  // namespace orrery::exporting::perfetto
