#include "orrery/workload/priced_calls.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "orrery/workload/aten_call.h"

namespace orrery::workload {
namespace {

using kernel::AtenMeaning;
using trace::GraphNodes;
using trace::kNoRow;
using trace::RowId;

// What stands between a call and those that Python makes for it.
bool IsPythonDispatch(std::string_view name) {
  return name == "PythonSubclass" || name == "PythonDispatchMode";
}

/// What is below each node, as far as it decides who is priced.
struct Below {
  std::vector<std::uint8_t> has_calls;
  std::vector<std::uint8_t> is_handed_on;
};

void MarkAncestors(const trace::Trace& graph, RowId node, Below& below) {
  const GraphNodes& nodes = graph.graph_nodes;
  const RowId parent = nodes.parent[node];
  if (parent == kNoRow) {
    return;
  }
  below.has_calls[parent] = 1;
  if (IsPythonDispatch(graph.Text(nodes.name[node]))) {
    below.is_handed_on[parent] = 1;
  }
  for (RowId ancestor = parent; ancestor != kNoRow; ancestor = nodes.parent[ancestor]) {
    if (nodes.name[ancestor] == nodes.name[node]) {
      below.is_handed_on[ancestor] = 1;
    }
  }
}

Below LookBelow(const trace::Trace& graph) {
  const std::size_t num_nodes = graph.graph_nodes.size();
  Below below{.has_calls = std::vector<std::uint8_t>(num_nodes),
              .is_handed_on = std::vector<std::uint8_t>(num_nodes)};
  for (RowId node = 0; node < num_nodes; ++node) {
    MarkAncestors(graph, node, below);
  }
  return below;
}

bool IsPricedHere(const kernel::AtenOperators& asked, bool has_calls) {
  switch (asked.meaning) {
    case AtenMeaning::kNoKernel:
      return false;
    case AtenMeaning::kPriced:
      return !asked.only_passes_on || !has_calls;
    case AtenMeaning::kUnknown:
      return !has_calls;
  }
  return false;
}

}  // namespace

std::vector<PricedCall> PricedCalls(const trace::Trace& graph) {
  const GraphNodes& nodes = graph.graph_nodes;
  const Below below = LookBelow(graph);
  std::vector<std::uint8_t> is_covered(nodes.size());
  std::vector<PricedCall> calls;
  // Rows are in order of begin, so a parent is decided before its children.
  for (RowId node = 0; node < nodes.size(); ++node) {
    const RowId parent = nodes.parent[node];
    is_covered[node] = parent != kNoRow ? is_covered[parent] : std::uint8_t{0};
    if (is_covered[node] != 0 || below.is_handed_on[node] != 0 ||
        nodes.kind[node] != trace::GraphNodeKind::kOperator) {
      continue;
    }
    kernel::AtenOperators asked = kernel::OperatorsOf(CallOfNode(graph, node));
    if (IsPricedHere(asked, below.has_calls[node] != 0)) {
      is_covered[node] = 1;
      calls.push_back(
          {.node = node, .meaning = asked.meaning, .operators = std::move(asked.operators)});
    }
  }
  return calls;
}

}  // namespace orrery::workload
