#pragma once

#include <vector>

#include "orrery/export/collective_spans.h"
#include "orrery/trace/matched_collectives.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// Makes the spans that the writers draw from the collectives matched over a run. Members wait for
/// the last arrival in kinds where nobody can go on before, and in pairs of send and receive that
/// overlap; matches that are in doubt show no waits and no bandwidth.
[[nodiscard]] std::vector<CollectiveSpan> SpansOf(const trace::TraceSet& set,
                                                  const trace::MatchedCollectives& matched);

}  // namespace orrery::exporting
