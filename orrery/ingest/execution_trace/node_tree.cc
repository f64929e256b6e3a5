#include "orrery/ingest/execution_trace/node_tree.h"

#include <algorithm>
#include <numeric>
#include <string_view>

#include <fmt/core.h>

#include "orrery/trace/row_index.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::GraphNodeKind;
using trace::GraphNodes;
using trace::Trace;

// File order is the order in which operators ended; id order is that in which they began.
void SortById(GraphNodes& nodes, std::vector<std::int64_t>& parent_ids) {
  std::vector<RowId> order(nodes.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](RowId lhs, RowId rhs) { return nodes.id[lhs] < nodes.id[rhs]; });
  std::vector<std::int64_t> sorted_ids;
  sorted_ids.reserve(order.size());
  for (const RowId row : order) {
    sorted_ids.push_back(parent_ids[row]);
  }
  PermuteRows(nodes, order);
  parent_ids = std::move(sorted_ids);
}

RowId FindProcessRoot(const Trace& trace) {
  for (RowId row = 0; row < trace.graph_nodes.size(); ++row) {
    if (trace.graph_nodes.kind[row] == GraphNodeKind::kRoot &&
        trace.Text(trace.graph_nodes.name[row]).ends_with("|process]")) {
      return row;
    }
  }
  return kNoRow;
}

enum class Visit : std::uint8_t { kNew, kOnPath, kDone };

// Follows parents from `row` up to known ground; returns the node that closes a cycle, if any.
RowId WalkUp(const GraphNodes& nodes, RowId row, std::vector<Visit>& visits) {
  RowId last = kNoRow;
  for (; row != kNoRow && visits[row] == Visit::kNew; row = nodes.parent[row]) {
    visits[row] = Visit::kOnPath;
    last = row;
  }
  return row != kNoRow && visits[row] == Visit::kOnPath ? last : kNoRow;
}

void MarkDone(const GraphNodes& nodes, RowId row, std::vector<Visit>& visits) {
  for (; row != kNoRow && visits[row] == Visit::kOnPath; row = nodes.parent[row]) {
    visits[row] = Visit::kDone;
  }
}

std::int64_t BreakCycles(GraphNodes& nodes, RowId root) {
  std::vector<Visit> visits(nodes.size(), Visit::kNew);
  std::int64_t num_cycles = 0;
  for (RowId row = 0; row < nodes.size(); ++row) {
    const RowId closing = WalkUp(nodes, row, visits);
    if (closing != kNoRow) {
      nodes.parent[closing] = root;
      ++num_cycles;
    }
    MarkDone(nodes, row, visits);
  }
  return num_cycles;
}

void NoteDuplicates(Trace& trace) {
  const auto& ids = trace.graph_nodes.id;
  for (std::size_t row = 1; row < ids.size(); ++row) {
    if (ids[row] == ids[row - 1]) {
      trace.problems.Note("graph nodes that share an id", 1, fmt::format("node {}", ids[row]));
    }
  }
}

}  // namespace

void LinkNodes(Trace& trace, std::vector<std::int64_t> parent_ids) {
  GraphNodes& nodes = trace.graph_nodes;
  SortById(nodes, parent_ids);
  NoteDuplicates(trace);
  const trace::RowIndex by_id(nodes.id);
  const RowId root = FindProcessRoot(trace);
  for (RowId row = 0; row < nodes.size(); ++row) {
    if (row == root) {
      continue;
    }
    nodes.parent[row] = by_id.First(parent_ids[row]);
    if (nodes.parent[row] == kNoRow) {
      nodes.parent[row] = root;
      trace.problems.Note("graph node whose parent is missing, now below the root", 1,
                          fmt::format("node {}", nodes.id[row]));
    }
  }
  trace.problems.Note("cycle of graph nodes, broken", BreakCycles(nodes, root));
}

}  // namespace orrery::ingest::execution_trace
