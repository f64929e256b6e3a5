#pragma once

#include <optional>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/value.h"
#include "orrery/trace/enums.h"

namespace orrery::analyze {

/// Returns the records with a known bus bandwidth of a kind, those of --min-bytes or more; all of
/// them when none is that large.
[[nodiscard]] std::vector<CollectiveRecord> LargeRecords(const RunView& run,
                                                         trace::CollectiveKind kind);

/// Returns the best rate in bytes per second of the slowest link that a group of ranks uses: from
/// the card, else from the catalogue when all ranks are on one host; nothing when unknown.
[[nodiscard]] std::optional<double> LinkPeak(const RunView& run, const CollectiveRecord& record);

/// Returns rows by power of two of the message size: count, bytes, median bus and algorithm
/// bandwidth.
[[nodiscard]] Value SizeHistogram(const std::vector<CollectiveRecord>& records);

}  // namespace orrery::analyze
