#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/base/columns.h"
#include "orrery/base/interval_set.h"
#include "orrery/trace/kernel_class.h"
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

}  // namespace orrery::analyze
