#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {

/// The communication of the nodes of an execution trace, from its collectives. A
/// group without a name is "all". Kinds that have no model, and messages, are counted in
/// `problems`.
[[nodiscard]] std::map<RowId, RecordedCommunication> CommunicationsOf(const trace::Trace& graph,
                                                                      trace::ProblemLog& problems);

/// Prices nodes as `price` does, and nodes that communicate as one communication. Both must
/// outlive it.
[[nodiscard]] PriceNode WithCommunications(
    const std::map<RowId, RecordedCommunication>& communications, const PriceNode& price);

/// The storages on the GPU that a call reads or writes.
[[nodiscard]] std::vector<std::int64_t> TouchedStorages(const trace::Trace& graph, RowId node);

/// Those that a call writes; where its results are not recorded, those that it touches.
[[nodiscard]] std::vector<std::int64_t> WrittenStorages(const trace::Trace& graph, RowId node);

}  // namespace orrery::workload
