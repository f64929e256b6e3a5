#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/recorded/host/replayed_host.h"

namespace orrery::simulate {

/// The prediction of several recorded ranks.
struct PredictedRanks {
  trace::TraceSet set;               // ranks as in the recording
  std::vector<std::string> remarks;  // a sentence each
};

/// Simulates the middle step of a recording of several ranks, `repetitions` times in a row: the
/// host from its model, kernels as recorded, collectives begin when the last of the recorded ranks
/// is there and take as long as the recording's median of their kind, size and number of ranks.
[[nodiscard]] Result<PredictedRanks> PredictRecordings(const trace::TraceSet& set,
                                                       const trace::MatchedCollectives& matched,
                                                       const workload::HostChoice& host,
                                                       int repetitions);

}  // namespace orrery::simulate
