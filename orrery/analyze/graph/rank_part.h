#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();

/// Maps the rows of one table that begin inside the step to numbers, mostly nodes.
class RowMap {
 public:
  RowMap() = default;

  RowMap(RowId first_row, std::size_t num_rows)
      : first_row_(first_row), number_of_row_(num_rows, kNoNode) {}

  void Set(RowId row, std::uint32_t number) { number_of_row_[row - first_row_] = number; }

  /// Returns kNoNode (which is also kNoRow) for rows outside and rows never set.
  [[nodiscard]] std::uint32_t Find(RowId row) const {
    const bool is_inside = row >= first_row_ && row - first_row_ < number_of_row_.size();
    return is_inside ? number_of_row_[row - first_row_] : kNoNode;
  }

 private:
  RowId first_row_ = 0;
  std::vector<std::uint32_t> number_of_row_;
};

/// The nodes of one thread, or of one stream in pairs of start and end.
struct Lane {
  RowId track = kNoRow;
  NodeId first = 0;
  NodeId end = 0;

  [[nodiscard]] bool empty() const { return first == end; }
};

/// An edge while the graph is built, between nodes of one rank; kNoNode stands for the source and
/// the sink.
struct PartEdge {
  NodeId from = 0;
  NodeId to = 0;
  std::int64_t weight_ns = 0;
  EdgeKind kind = EdgeKind::kThread;
  TimeClass time_class = TimeClass::kOrder;
  std::uint32_t label = kNoLabel;
};

/// The part of the graph that belongs to one rank, while it is built. Nodes are numbered lane
/// after lane, threads first; inside a lane in order of time.
struct RankPart {
  const trace::Trace* trace = nullptr;
  const std::vector<trace::KernelClass>* classes = nullptr;
  Interval host_window;
  Interval device_window;

  std::vector<std::int64_t> time_ns;
  std::vector<NodeKind> kind;
  std::vector<RowId> row;
  std::vector<std::uint32_t> open;  // of host nodes: packed label of what is open before
  std::vector<Lane> threads;
  std::vector<Lane> streams;

  RowMap call_start;
  RowMap call_end;
  RowMap activity_start;       // its end is the next node
  RowMap first_of_collective;  // the start of its first kernel …
  RowMap last_of_collective;   // … and of its last

  std::vector<bool> meets;           // ends that a rendezvous explains: no own work
  std::vector<bool> waits_for_call;  // starts of blocking calls whose inside is not host time
  std::vector<bool> is_handed_over;  // host nodes that another thread explains
  std::vector<PartEdge> edges;
  GraphCounts counts;

  [[nodiscard]] NodeId num_nodes() const { return static_cast<NodeId>(time_ns.size()); }

  NodeId AddNode(std::int64_t at_ns, NodeKind node_kind, RowId node_row);

  /// Adds an edge unless the recording shows the opposite order; a weight that is larger than the
  /// time between the nodes becomes that time. Both are counted.
  void AddEdge(const PartEdge& edge);

  /// Returns the stream with this number, on this device if it is known.
  [[nodiscard]] const Lane* FindStream(std::int32_t device, std::int64_t stream) const;
};

/// The rows of a table with `begin_ns` that begin inside a window.
struct RowRange {
  RowId first = 0;
  RowId end = 0;

  [[nodiscard]] std::size_t size() const { return end - first; }
};

[[nodiscard]] RowRange RowsWithin(const std::vector<std::int64_t>& begin_ns, Interval window);

/// Adds start and end of the activities that lie inside the step, stream after stream.
void AddDeviceNodes(RankPart& part);

/// Adds what each activity does (E0; not where a rendezvous explains its end) and the order of
/// activities on their stream (E3).
void AddDeviceEdges(RankPart& part);

/// Adds starts and ends of operators and runtime calls that lie inside the step, thread after
/// thread; threads that only look on (watchdogs) are left out and counted. What happens inside a
/// call that can block is part of that call.
void AddHostNodes(RankPart& part);

/// Adds the edges along threads (E1): the time between neighbours belongs to the innermost open
/// event. Expects blocking calls and hand-overs to be marked, whose time is explained otherwise.
void AddThreadEdges(RankPart& part);

/// Adds edges between threads that take turns (E9), such as forward and backward: where a burst of
/// events of one thread begins in a pause of the other, it began because the other came to the
/// pause; and where it ends in one, the other goes on because the burst is over. The nodes so
/// explained are marked. (The other may do a little in between, such as accumulating a gradient.)
///
/// Threads take turns when one runs backward operators of the other's forward operators.
void AddHandOvers(RankPart& part);

/// The activities of one stream in the order in which the host launched them, which is the order
/// in which they run.
class LaunchOrder {
 public:
  LaunchOrder(const RankPart& part, const Lane& lane);

  /// Returns the start of the last activity that was launched before a time of the host.
  [[nodiscard]] NodeId LastBefore(std::int64_t host_ns) const;

  /// Returns the start of the first activity that was launched at that time or later.
  [[nodiscard]] NodeId FirstFrom(std::int64_t host_ns) const;

 private:
  NodeId first_ = 0;
  std::vector<std::int64_t> launched_ns_;  // running maximum, so that it can be searched
};

[[nodiscard]] std::vector<LaunchOrder> LaunchOrders(const RankPart& part);

/// Adds an edge from the start of each launch call to the activity it launched, of a call that
/// launched many (a graph) to the first on each stream (E2, E10).
///
/// The weight is the launch latency: the smallest time from call to start that the recording of the
/// rank has for calls of that name, which is one on an idle stream if there was any. Above 30 µs
/// the stream must have waited for something; then it is the smallest of all calls, if that is
/// not above 30 µs too, else unknown and 0.
void AddLaunchEdges(RankPart& part);

/// Adds an edge for each stream that waited for an event (E4): from the end of the last activity
/// launched before the record to the start of the first one launched after the wait.
///
/// Recordings without synchronisation records do not say which stream waits for which: there an
/// activity that was launched after a wait call is taken to have waited for what ended within 20 µs
/// before its start on another stream, if nothing else explains the start better.
void AddEventEdges(RankPart& part, const std::vector<LaunchOrder>& orders);

enum class Blocking : std::uint8_t {
  kNever,
  kAllStreams,  // cudaDeviceSynchronize, cudaFree
  kOneStream,   // cudaStreamSynchronize, cudaEventSynchronize
  kOwnCopy,     // copies: those to pageable memory return when they are done
};

/// Returns what a call of that name can wait for. `cudaEventQuery` never blocks.
[[nodiscard]] Blocking ClassifyBlockingCall(std::string_view name);

using BlockingNames = trace::PerName<Blocking (*)(std::string_view)>;

/// Adds for each call that waited an edge from the end of what it waited for to the end of the call
/// (E5), and one through the call (E6) in place of its host time. What was waited for comes from
/// synchronisation records; without one a call waited for what ended within 20 µs before its end.
/// Launches into a full queue wait as well (see FreedPlaceInQueue).
void AddBlockingCalls(RankPart& part, const std::vector<LaunchOrder>& orders);

/// A rank's share in a rendezvous: from its start until what it sends and receives is through.
struct RendezvousMember {
  std::uint32_t place = 0;  // of the part
  NodeId start = kNoNode;
  NodeId end = kNoNode;
};

/// Matched collectives and messages of the step with their members (E7, E8).
struct Rendezvous {
  std::vector<std::uint32_t> instance;  // of MatchedCollectives
  std::vector<std::int64_t> time_ns;    // when the last member had come
  std::vector<std::uint32_t> first_member = {0};
  std::vector<RendezvousMember> members;
  GraphCounts counts;

  [[nodiscard]] std::size_t size() const { return instance.size(); }

  [[nodiscard]] std::span<const RendezvousMember> MembersOf(std::size_t rendezvous) const {
    return std::span(members).subspan(first_member[rendezvous],
                                      first_member[rendezvous + 1] - first_member[rendezvous]);
  }
};

void IndexCollectives(RankPart& part);

/// Finds the rendezvous among the nodes of all parts (in order of rank), and marks the ends they
/// explain. A member that ended before the last one came (a buffered message) keeps its own work.
/// `place_of_rank` says where the part of a rank of the run is.
[[nodiscard]] Rendezvous FindRendezvous(const RunView& run, std::vector<RankPart>& parts,
                                        const std::vector<std::uint32_t>& place_of_rank);

/// The node numbers of all parts and of the rendezvous in the graph.
class NodeNumbering {
 public:
  /// Adds source, sink and all nodes to an empty graph in order of time; at equal times ends come
  /// before starts and rendezvous last, then rank, lane and place in the lane decide. Parts are
  /// sorted in parallel and merged.
  NodeNumbering(const std::vector<RankPart>& parts, const Rendezvous& rendezvous, int threads,
                DependencyGraph& graph);

  [[nodiscard]] NodeId Of(std::size_t place, NodeId node) const { return new_id_[place][node]; }

  [[nodiscard]] NodeId OfRendezvous(std::size_t rendezvous) const {
    return new_id_.back()[rendezvous];
  }

 private:
  std::vector<std::vector<NodeId>> new_id_;  // of each part, then of the rendezvous
};

/// Adds the edges of the parts and of the rendezvous to a graph that has its nodes, grouped by
/// target. The parts are used up.
void GroupEdges(const NodeNumbering& numbering, const Rendezvous& rendezvous,
                std::vector<RankPart>& parts, DependencyGraph& graph);

}  // namespace orrery::analyze
