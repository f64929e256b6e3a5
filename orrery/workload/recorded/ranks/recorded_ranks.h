#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/recorded/host/replayed_host.h"

namespace orrery::workload {

/// Communications that take as long as each other.
struct TransferKind {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;
  std::size_t num_ranks = 0;  // that were recorded

  auto operator<=>(const TransferKind&) const = default;
};

struct RecordedRanks {
  Ensemble ensemble;                                 // ranks as in the TraceSet
  std::map<TransferKind, std::int64_t> transfer_ns;  // medians of the recording, without waits
  /// Kernels of collectives of the step whose counterparts are not known: they last as recorded,
  /// waits and all.
  std::int64_t num_as_recorded = 0;
};

/// Makes the programs of the middle step of all ranks from their recordings (ProgramOfMiddleStep),
/// with collectives that wait for each other: those whose members were all found in that step.
/// Fails where ranks have no operators or kernels, or different numbers of steps.
[[nodiscard]] Result<RecordedRanks> EnsembleOfRecordings(const trace::TraceSet& set,
                                                         const trace::MatchedCollectives& matched,
                                                         const HostChoice& host);

}  // namespace orrery::workload
