#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"

namespace orrery::analyze {

struct RunView;

using NodeId = std::uint32_t;
using EdgeId = std::uint32_t;

/// The event at a node. The row of a node is one of the table it names.
enum class NodeKind : std::uint8_t {
  kSource,
  kOperatorStart,
  kOperatorEnd,
  kCallStart,
  kCallEnd,
  kActivityStart,
  kActivityEnd,
  kRendezvous,  // all members of a matched collective, or both ends of a message, are there
  kSink,
};

[[nodiscard]] inline bool IsDeviceNode(NodeKind kind) {
  return kind == NodeKind::kActivityStart || kind == NodeKind::kActivityEnd;
}

/// Why a node cannot come before another. In the order in which equal reasons are preferred.
enum class EdgeKind : std::uint8_t {
  kRendezvous,   // into and out of a rendezvous
  kEvent,        // a stream waited for an event
  kStreamOrder,  // the activity before on the stream
  kWork,         // from start to end of an activity
  kLaunch,       // the call that launched an activity
  kSync,         // a call of the host waited for an activity
  kThread,       // the node before on the thread
  kHandOver,     // another thread worked meanwhile
  kStart,        // nothing before it was recorded
  kEnd,          // to the sink
};

/// The class of an edge's time, or of the unexplained delay of a node.
enum class TimeClass : std::uint8_t {
  kCompute,
  kMemory,
  kCommunication,  // without a counterpart on another rank: may contain waiting
  kTransfer,
  kHost,
  kHostGap,  // no operator or call is open
  kLaunch,
  kSync,
  kStart,
  kOrder,           // weight 0: order on a stream, events, arrivals, ends
  kLaunchOverhead,  // unexplained delay of a device start, short …
  kDeviceWait,      // … and long
  kMissingRank,     // a member that is not in the graph came later
};

inline constexpr int kNumTimeClasses = 13;

[[nodiscard]] std::string_view TimeClassName(TimeClass time_class);

inline constexpr std::uint32_t kNoLabel = 0xFFFF'FFFF;

/// The operator or runtime call that was open on a thread: the label of edges along threads.
struct HostLabel {
  RowId row = kNoRow;
  bool is_call = false;
};

[[nodiscard]] inline std::uint32_t PackHostLabel(HostLabel label) {
  return label.row | (label.is_call ? 0x8000'0000U : 0U);
}

[[nodiscard]] inline HostLabel UnpackHostLabel(std::uint32_t packed) {
  return {.row = packed & 0x7FFF'FFFFU, .is_call = (packed & 0x8000'0000U) != 0};
}

/// Counts of the recorded relations that could not be modelled as they were.
struct GraphCounts {
  std::int64_t checked_edges = 0;          // edges that the recording could have contradicted
  std::int64_t shortened_edges = 0;        // contradictions: the weight was more than the time …
  std::int64_t dropped_edges = 0;          // … or the order was the other way round
  std::int64_t stream_overlaps = 0;        // activities that began before the one before ended
  std::int64_t inferred_events = 0;        // streams that waited, without a record of it
  std::int64_t inferred_syncs = 0;         // blocking calls without a synchronisation record
  std::int64_t full_queues = 0;            // launches that waited for a place in the queue
  std::int64_t unmatched_collectives = 0;  // communication treated as work
  std::int64_t unreliable_matches = 0;     // matches with doubts, treated as unmatched
  std::int64_t graph_activities = 0;       // launched by a graph: inner order by stream only
  std::int64_t without_launch = 0;         // activities whose launch is not in the graph
  std::int64_t idle_threads = 0;           // left out: they run no operator and launch nothing
  std::int64_t num_activities = 0;

  GraphCounts& operator+=(const GraphCounts& other);

  [[nodiscard]] std::int64_t contradictions() const { return shortened_edges + dropped_edges; }
};

/// One step of a run over all its ranks as points in time and reasons between them: an edge u → v
/// with weight w says t(v) ≥ t(u) + w. What no edge explains is the residual of the node, so the
/// graph reproduces the recording to the nanosecond (critical-path-and-waits.md, section 7).
///
/// Nodes are in topological order: edges go from lower to higher ids; the source is the first node
/// and the sink the last. Edges are grouped by the node they lead to.
struct DependencyGraph {
  std::int64_t step_number = -1;  // -1: the whole recording
  Interval window;
  std::int64_t launch_gap_ns = 30'000;
  std::vector<std::uint32_t> rank_index;  // TraceSet::ranks, of each place in order of rank

  static constexpr std::uint32_t kNoPlace = 0xFFFF'FFFF;
  std::vector<std::int64_t> time_ns;
  std::vector<NodeKind> node_kind;
  std::vector<RowId> node_row;            // of its table; of a rendezvous: the matched instance
  std::vector<std::uint32_t> node_place;  // in order of rank; kNoPlace: of no rank
  std::vector<EdgeId> first_edge;         // one more than nodes

  std::vector<NodeId> edge_from;
  std::vector<std::int64_t> weight_ns;
  std::vector<EdgeKind> edge_kind;
  std::vector<TimeClass> edge_class;
  /// Along threads the packed HostLabel of the innermost open event, of transfers the matched
  /// instance; kNoLabel elsewhere.
  std::vector<std::uint32_t> edge_label;

  GraphCounts counts;

  [[nodiscard]] bool empty() const { return time_ns.empty(); }

  [[nodiscard]] NodeId num_nodes() const { return static_cast<NodeId>(time_ns.size()); }

  [[nodiscard]] EdgeId num_edges() const { return static_cast<EdgeId>(edge_from.size()); }

  [[nodiscard]] NodeId sink() const { return num_nodes() - 1; }

  [[nodiscard]] auto EdgesTo(NodeId node) const {
    return std::views::iota(first_edge[node], first_edge[node + 1]);
  }

  /// From the first event of the step on a host to its last on a device: the length of the critical
  /// path. Steps overlap, so that it is not the step time (step_time.h).
  [[nodiscard]] std::int64_t path_ns() const {
    return empty() ? 0 : time_ns.back() - time_ns.front();
  }

  /// Returns when a node could have been at the earliest by its edges alone.
  [[nodiscard]] std::int64_t ExplainedNs(NodeId node) const;

  [[nodiscard]] std::int64_t ResidualNs(NodeId node) const {
    return time_ns[node] - ExplainedNs(node);
  }

  [[nodiscard]] TimeClass ResidualClass(NodeId node, std::int64_t residual_ns) const;
};

/// Builds the graph of the first selected step that all ranks have, of the whole recording where
/// there are no steps. Linear in the rows of the step but for one sort; ranks in parallel.
[[nodiscard]] DependencyGraph BuildGraph(const RunView& run);

/// The same for the step with this number; without one for the whole recording.
[[nodiscard]] DependencyGraph BuildGraph(const RunView& run, std::optional<std::int64_t> number);

/// Returns the numbers of the selected steps that all ranks with steps have; nothing when no rank
/// has steps.
[[nodiscard]] std::optional<std::set<std::int64_t>> CommonSteps(const RunView& run);

struct RunView;

/// Keeps the graph of a run, so that metrics which need it build it once. Thread-safe.
class GraphHolder {
 public:
  [[nodiscard]] const DependencyGraph& Get(const RunView& run) {
    std::call_once(built_, [&] { graph_ = BuildGraph(run); });
    return graph_;
  }

 private:
  std::once_flag built_;
  DependencyGraph graph_;
};

/// Returns the graph of a run made by ViewRun; builds it on first use.
[[nodiscard]] const DependencyGraph& GraphOf(const RunView& run);

}  // namespace orrery::analyze
