#include "orrery/workload/recorded/priced_calls.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "orrery/kernel/aten/call.h"
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

double BytesOf(const kernel::AtenTensor& tensor) {
  return tensor.type ? static_cast<double>(tensor.Elements()) * kernel::ElementBytes(*tensor.type)
                     : 0;
}

/// Remembers how many bytes had been touched when each storage last was.
class Recency {
 public:
  explicit Recency(Bytes cache) : cache_(static_cast<double>(cache.count)) {}

  /// Whether the tensor's bytes are still there; the oldest of them were touched its own size ago.
  [[nodiscard]] bool IsWarm(const kernel::AtenTensor& tensor) const {
    const auto last = touched_at_.find(*tensor.storage);
    return last != touched_at_.end() && clock_ - last->second + BytesOf(tensor) < cache_;
  }

  void Touch(const kernel::AtenTensor& tensor) {
    clock_ += BytesOf(tensor);
    touched_at_[*tensor.storage] = clock_;
  }

 private:
  double cache_;
  double clock_ = 0;
  std::unordered_map<std::int64_t, double> touched_at_;
};

bool IsTraceable(const kernel::AtenTensor& tensor) {
  return tensor.is_defined && tensor.on_gpu && tensor.storage.has_value();
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

std::vector<double> WarmShares(const trace::Trace& graph, std::span<const PricedCall> calls,
                               Bytes cache) {
  Recency recency(cache);
  std::vector<double> shares;
  shares.reserve(calls.size());
  for (const PricedCall& priced : calls) {
    const kernel::AtenCall call = CallOfNode(graph, priced.node);
    double read = 0;
    double warm = 0;
    for (const kernel::AtenTensor* input : call.InputTensors()) {
      if (IsTraceable(*input)) {
        read += BytesOf(*input);
        warm += recency.IsWarm(*input) ? BytesOf(*input) : 0;
      }
    }
    for (const kernel::AtenTensor* input : call.InputTensors()) {
      if (IsTraceable(*input)) {
        recency.Touch(*input);
      }
    }
    for (const kernel::AtenTensor& output : call.outputs) {
      if (IsTraceable(output)) {
        recency.Touch(output);
      }
    }
    shares.push_back(read > 0 ? warm / read : 0);
  }
  return shares;
}

}  // namespace orrery::workload
