#pragma once

#include <vector>

#include "orrery/trace/collective_lanes.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {

/// Returns the event of a single row.
[[nodiscard]] CollectiveEvent EventOfRow(const Trace& trace, RowId row);

/// Returns whether one kernel served the row and the event before it, or an overlapping one with
/// the same sequence number: parts of a coalesced call.
[[nodiscard]] bool IsPartOf(const Trace& trace, RowId row, const CollectiveEvent& event);

/// Adds a row to a coalesced call: sizes add up, an unknown size makes the sum unknown.
void AddPart(const Trace& trace, RowId row, CollectiveEvent& event);

/// Returns whether all members of such a collective state the same message size.
[[nodiscard]] bool HasCommonSize(CollectiveKind kind);

/// Chooses the rows that can have a counterpart: those with kernels when the rank has any; never
/// those of a group of one rank. The others get kNoRow.
[[nodiscard]] RankRows SelectRows(const Trace& trace);

}  // namespace orrery::trace
