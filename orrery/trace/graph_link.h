#pragma once

#include "orrery/trace/trace.h"

namespace orrery::trace {

/// The rule that matched graph nodes with rows of a recording.
enum class GraphLinkRule : std::uint8_t {
  kNone,              // they were not
  kRecordFunctionId,  // both files number the calls
  kThreadOrder,       // each thread runs the same operators in the same order
  kStepOrder,         // the nodes are one step, and the recording repeats it
};

/// A `node` and a row of host_ops, or of annotations, that are the same operator.
struct GraphMatch {
  RowId node = kNoRow;
  RowId row = kNoRow;
  bool is_annotation = false;
};

struct GraphMatches {
  GraphLinkRule rule = GraphLinkRule::kNone;
  std::vector<GraphMatch> matches;  // a node of a repeated step has several
};

/// Returns true if a recording has the node on a host thread: an operator or an annotation, but not
/// a root, GPU work or the observer's own list of process groups.
[[nodiscard]] bool IsHostWork(const Trace& trace, RowId node);

/// Matches the graph nodes of a trace with its host rows.
///
/// By record function ids where the recording has them. Otherwise by order: per thread, nodes in
/// order of id correspond to operators and annotations in order of external id. Rows that began
/// before the observer exist only in the recording and are skipped; where the whole sequence of a
/// thread occurs several times, the nodes are of one step and every repetition is matched. Names
/// decide: fewer than 99 % that agree, or fewer than 99 % of the nodes found, give no match at all.
[[nodiscard]] GraphMatches MatchGraph(const Trace& trace);

/// Counts of the linked nodes of an execution trace.
struct GraphLinkSummary {
  GraphLinkRule rule = GraphLinkRule::kNone;
  std::int64_t linked = 0;    // operators and annotations that have a row in the recording
  std::int64_t unlinked = 0;  // those that have none
};

/// Moves the graph nodes of an execution trace into the recording of the same rank, and links them
/// with its operators and annotations (see MatchGraph) and through these with its collectives,
/// which learn sizes, types, groups and sequence numbers they did not know. The recording must be
/// finished: rows do not move.
///
/// Nodes that cannot be linked are kept all the same, and a problem says so. Where the nodes are of
/// another step than the recording, what differs from step to step is not filled in. GPU activities
/// of a merged execution trace are those of the recording and are left out; their nodes stay.
GraphLinkSummary LinkGraph(Trace& recording, Trace&& graph);

}  // namespace orrery::trace
