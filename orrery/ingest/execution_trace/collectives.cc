#include "orrery/ingest/execution_trace/collectives.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "orrery/ingest/execution_trace/collective_calls.h"
#include "orrery/ingest/execution_trace/process_groups.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::Trace;

struct CallOfNode {
  RowId node = kNoRow;
  CollectiveCall call;
};

std::vector<CallOfNode> ReadRecordedCalls(const Trace& trace, const std::vector<RowId>& nodes) {
  std::vector<CallOfNode> calls;
  for (const RowId node : nodes) {
    if (auto call = ReadRecordedCall(trace, node)) {
      calls.push_back({node, *std::move(call)});
    }
  }
  return calls;
}

std::vector<RowId> FindNodes(const Trace& trace, auto&& is_wanted) {
  // Names repeat: ask once for each.
  std::vector<signed char> answers(trace.strings.size(), -1);
  std::vector<RowId> found;
  for (RowId node = 0; node < trace.graph_nodes.size(); ++node) {
    const StringId name = trace.graph_nodes.name[node];
    signed char& answer = answers[static_cast<std::size_t>(name)];
    if (answer < 0) {
      answer = is_wanted(trace.Text(name)) ? 1 : 0;
    }
    if (answer == 1) {
      found.push_back(node);
    }
  }
  return found;
}

// An operator such as _c10d_functional::all_reduce calls c10d::allreduce_: one collective, the
// outer one, which knows its group by name. Parents may come behind their children in files that
// were changed, so each nest is walked up.
bool IsInsideAnother(const Trace& trace, RowId node, const std::vector<bool>& is_collective) {
  RowId outer = trace.graph_nodes.parent[node];
  while (outer != kNoRow && !is_collective[outer]) {
    outer = trace.graph_nodes.parent[outer];
  }
  return outer != kNoRow;
}

std::vector<CallOfNode> ReadOperatorCalls(const Trace& trace, const std::vector<RowId>& nodes) {
  std::vector<bool> is_collective(trace.graph_nodes.size(), false);
  for (const RowId node : nodes) {
    is_collective[node] = true;
  }
  std::vector<CallOfNode> calls;
  for (const RowId node : nodes) {
    if (!IsInsideAnother(trace, node, is_collective)) {
      calls.push_back({node, ReadOperatorCall(trace, node)});
    }
  }
  return calls;
}

void AppendCall(Trace& trace, const CallOfNode& found, RowId group) {
  const CollectiveCall& call = found.call;
  const trace::GraphNodes& nodes = trace.graph_nodes;
  trace.collectives.Append({
      .begin_ns = std::max<std::int64_t>(nodes.begin_ns[found.node], 0),
      .duration_ns = std::max<std::int64_t>(nodes.duration_ns[found.node], 0),
      .name = trace.strings.Intern(call.name),
      .kind = call.kind,
      .group = group,
      .data_type = call.data_type,
      .in_elements = call.in.elements,
      .out_elements = call.out.elements,
      .in_bytes = call.in.bytes,
      .out_bytes = call.out.bytes,
      .in_splits = trace.strings.Intern(call.in_splits),
      .out_splits = trace.strings.Intern(call.out_splits),
      .sequence = call.sequence,
      .peer = call.is_point_to_point() ? call.rank : -1,
      .is_async = static_cast<std::uint8_t>(call.is_async ? 1 : 0),
      .graph_node = found.node,
  });
}

}  // namespace

void ReadCollectives(Trace& trace) {
  ReadDeclaredGroups(trace);
  const auto recorded =
      FindNodes(trace, [](std::string_view name) { return name == "record_param_comms"; });
  const auto calls = recorded.empty()
                         ? ReadOperatorCalls(trace, FindNodes(trace, IsCollectiveOperator))
                         : ReadRecordedCalls(trace, recorded);
  std::vector<RowId> groups;
  for (const CallOfNode& found : calls) {
    groups.push_back(ResolveGroup(trace, found.call.group));
    AppendCall(trace, found, groups.back());
  }
  for (std::size_t i = 0; i < calls.size() && trace.info.rank < 0; ++i) {
    if (calls[i].call.rank_is_own()) {
      trace.info.rank = GlobalRank(trace, groups[i], calls[i].call.rank);
    }
  }
}

}  // namespace orrery::ingest::execution_trace
