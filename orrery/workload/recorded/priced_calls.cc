#include "orrery/workload/recorded/priced_calls.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "orrery/workload/recorded/aten_call.h"

namespace orrery::workload {
namespace {

using kernel::AtenMeaning;

// What stands between a call and those that Python makes for it.
bool IsPythonDispatch(std::string_view name) {
  return name == "PythonSubclass" || name == "PythonDispatchMode";
}

/// Calls that call each other: nodes of an execution trace, or operators of a recording. In order
/// of begin, so that a parent is decided before its children.
struct CallForest {
  const trace::Trace& trace;
  const std::vector<RowId>& parents;
  const std::vector<StringId>& names;
  kernel::AtenCall (*call_of)(const trace::Trace& trace, RowId row);

  [[nodiscard]] std::size_t size() const { return parents.size(); }
};

/// What is below each call, as far as it decides who is priced.
struct Below {
  std::vector<std::uint8_t> has_calls;
  std::vector<std::uint8_t> is_handed_on;
};

void MarkAncestors(const CallForest& forest, RowId node, Below& below) {
  const RowId parent = forest.parents[node];
  if (parent == kNoRow) {
    return;
  }
  below.has_calls[parent] = 1;
  if (IsPythonDispatch(forest.trace.Text(forest.names[node]))) {
    below.is_handed_on[parent] = 1;
  }
  for (RowId ancestor = parent; ancestor != kNoRow; ancestor = forest.parents[ancestor]) {
    if (forest.names[ancestor] == forest.names[node]) {
      below.is_handed_on[ancestor] = 1;
    }
  }
}

Below LookBelow(const CallForest& forest) {
  Below below{.has_calls = std::vector<std::uint8_t>(forest.size()),
              .is_handed_on = std::vector<std::uint8_t>(forest.size())};
  for (RowId node = 0; node < forest.size(); ++node) {
    MarkAncestors(forest, node, below);
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

template <typename IsOperator>
std::vector<PricedCall> PricedCallsOf(const CallForest& forest, const IsOperator& is_operator) {
  const Below below = LookBelow(forest);
  std::vector<std::uint8_t> is_covered(forest.size());
  std::vector<PricedCall> calls;
  for (RowId node = 0; node < forest.size(); ++node) {
    const RowId parent = forest.parents[node];
    is_covered[node] = parent != kNoRow ? is_covered[parent] : std::uint8_t{0};
    if (is_covered[node] != 0 || below.is_handed_on[node] != 0 || !is_operator(node)) {
      continue;
    }
    kernel::AtenOperators asked = kernel::OperatorsOf(forest.call_of(forest.trace, node));
    if (IsPricedHere(asked, below.has_calls[node] != 0)) {
      is_covered[node] = 1;
      calls.push_back(
          {.node = node, .meaning = asked.meaning, .operators = std::move(asked.operators)});
    }
  }
  return calls;
}

}  // namespace

std::vector<PricedCall> PricedCalls(const trace::Trace& graph) {
  const trace::GraphNodes& nodes = graph.graph_nodes;
  return PricedCallsOf({graph, nodes.parent, nodes.name, &CallOfNode}, [&](RowId node) {
    return nodes.kind[node] == trace::GraphNodeKind::kOperator;
  });
}

std::vector<PricedCall> PricedOperators(const trace::Trace& recording) {
  const trace::HostOps& ops = recording.host_ops;
  return PricedCallsOf({recording, ops.parent, ops.name, &CallOfOperator},
                       [](RowId) { return true; });
}

}  // namespace orrery::workload
