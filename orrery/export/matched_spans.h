#pragma once

#include <vector>

#include "orrery/export/collective_spans.h"
#include "orrery/trace/matched_collectives.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// The matched collectives of a run as the writers draw them.
[[nodiscard]] std::vector<CollectiveSpan> SpansOf(const trace::TraceSet& set,
                                                  const trace::MatchedCollectives& matched);

}  // namespace orrery::exporting
