#include "orrery/workload/recorded/priced_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/base/units.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/recorded_call.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/sparse_tensors.h"

namespace orrery::workload {
namespace {

using kernel::AtenMeaning;
using kernel::CallOfNode;
using kernel::CallOfOperator;

/// kernel::AtenOperators, shared.
struct Asked {
  AtenMeaning meaning = AtenMeaning::kNoKernel;
  std::shared_ptr<const std::vector<kernel::Operator>> operators = {};
  bool only_passes_on = false;
  std::int64_t launches = 0;
};

Asked Shared(kernel::AtenOperators asked) {
  return {.meaning = asked.meaning,
          .operators =
              std::make_shared<const std::vector<kernel::Operator>>(std::move(asked.operators)),
          .only_passes_on = asked.only_passes_on,
          .launches = asked.launches};
}

/// Calls that call each other: nodes of an execution trace, or operators of a recording. In order
/// of begin, so that a parent is decided before its children.
struct CallForest {
  const trace::Trace& trace;
  const std::vector<RowId>& parents;
  const std::vector<StringId>& names;
  std::function<Asked(RowId row)> asked_by;

  [[nodiscard]] std::size_t size() const { return parents.size(); }
};

/// The name without the underscore of the form that works in place.
std::string_view OutOfPlace(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

/// Properties of the calls below each call that decide which one is estimated.
struct Below {
  std::vector<std::uint8_t> has_calls;
  std::vector<std::uint8_t> is_handed_on;
};

Below LookBelow(const CallForest& forest) {
  Below below{.has_calls = std::vector<std::uint8_t>(forest.size()),
              .is_handed_on = std::vector<std::uint8_t>(forest.size())};
  for (RowId node = 0; node < forest.size(); ++node) {
    const RowId parent = forest.parents[node];
    if (parent == kNoRow) {
      continue;
    }
    below.has_calls[parent] = 1;
    // Between a call and those that Python makes for it.
    const std::string_view name = forest.trace.Text(forest.names[node]);
    if (name == "PythonSubclass" || name == "PythonDispatchMode") {
      below.is_handed_on[parent] = 1;
    }
    for (RowId ancestor = parent; ancestor != kNoRow; ancestor = forest.parents[ancestor]) {
      if (forest.names[ancestor] == forest.names[node] ||
          OutOfPlace(forest.trace.Text(forest.names[ancestor])) == OutOfPlace(name)) {
        below.is_handed_on[ancestor] = 1;
      }
    }
  }
  return below;
}

/// A call that is not understood, with calls below it: estimated itself if none of those is.
struct OpaqueCall {
  PricedCall call;
  bool is_priced = false;
};

/// Decides from the inside out which calls that are not understood run work of their own: those
/// below which no call is estimated. `has_priced` marks the calls that are estimated already.
void PriceOpaqueCalls(const CallForest& forest, std::vector<std::uint8_t> has_priced,
                      std::map<RowId, OpaqueCall>& opaque) {
  for (RowId node = static_cast<RowId>(forest.size()); node-- > 0;) {
    const auto found = has_priced[node] == 0 ? opaque.find(node) : opaque.end();
    if (found != opaque.end()) {
      found->second.is_priced = true;
      has_priced[node] = 1;
    }
    const RowId parent = forest.parents[node];
    if (parent != kNoRow && has_priced[node] != 0) {
      has_priced[parent] = 1;
    }
  }
}

/// Calls set up their own memory so: that is not the work they were called for.
bool OnlyFills(const PricedCall& call) {
  return std::ranges::all_of(*call.operators, [](const kernel::Operator& op) {
    return op.kind() == kernel::OperatorKind::kFill;
  });
}

/// Kernels are measured on tensors without gaps; one with gaps is copied first, by a call below.
bool IsCopyBefore(std::string_view name) {
  return name == "aten::contiguous";
}

template <typename IsOperator>
std::vector<PricedCall> PricedCallsOf(const CallForest& forest, const IsOperator& is_operator) {
  const Below below = LookBelow(forest);
  std::vector<std::uint8_t> is_covered(forest.size());
  std::vector<std::uint8_t> is_priced(forest.size());
  std::vector<PricedCall> calls;
  std::map<RowId, OpaqueCall> opaque;
  for (RowId node = 0; node < forest.size(); ++node) {
    const RowId parent = forest.parents[node];
    const bool is_covered_by_parent = parent != kNoRow && is_covered[parent] != 0 &&
                                      !IsCopyBefore(forest.trace.Text(forest.names[node]));
    is_covered[node] = is_covered_by_parent ? 1 : 0;
    if (is_covered[node] != 0 || below.is_handed_on[node] != 0 || !is_operator(node)) {
      continue;
    }
    Asked asked = forest.asked_by(node);
    const bool is_leaf = below.has_calls[node] == 0;
    // Calls below one whose own kernels were measured have kernels of their own.
    const bool is_alone = asked.meaning == AtenMeaning::kMeasured;
    const bool is_priced_here =
        is_alone || (asked.meaning == AtenMeaning::kPriced && (!asked.only_passes_on || is_leaf)) ||
        (asked.meaning == AtenMeaning::kUnknown && is_leaf);
    PricedCall call{.node = node,
                    .meaning = asked.meaning,
                    .operators = std::move(asked.operators),
                    .launches = asked.launches};
    if (is_priced_here) {
      is_covered[node] = is_alone ? 0 : 1;
      is_priced[node] = OnlyFills(call) ? 0 : 1;
      calls.push_back(std::move(call));
    } else if (asked.meaning == AtenMeaning::kUnknown) {
      opaque.emplace(node, OpaqueCall{std::move(call)});
    }
  }
  PriceOpaqueCalls(forest, std::move(is_priced), opaque);
  for (auto& [node, found] : opaque) {
    if (found.is_priced) {
      calls.push_back(std::move(found.call));
    }
  }
  std::ranges::sort(calls, {}, &PricedCall::node);
  return calls;
}

double BytesOf(const kernel::AtenTensor& tensor) {
  return tensor.type ? static_cast<double>(tensor.Elements()) * ElementBytes(*tensor.type) : 0;
}

/// Remembers how many bytes had been touched when each storage last was.
class Recency {
 public:
  explicit Recency(Bytes cache) : cache_(static_cast<double>(cache.count)) {}

  /// True if the tensor's bytes are still in the cache; the oldest of them were touched its own
  /// size ago.
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

bool ProductsRanInTf32(const trace::Trace& recording) {
  // Of xmma and of cutlass, whose tensor-core products of 16 × 8 × 8 take fp32 as TF32.
  constexpr auto kMarks = std::to_array<std::string_view>({"tf32", "s1688gemm"});
  constexpr auto kProducts =
      std::to_array<std::string_view>({"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"});
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    const RowId op = recording.activities.host_op[row];
    if (op == kNoRow || std::ranges::find(kProducts, recording.Text(recording.host_ops.name[op])) ==
                            kProducts.end()) {
      continue;
    }
    const std::string_view kernel = recording.Text(recording.activities.name[row]);
    if (std::ranges::any_of(kMarks, [&](std::string_view mark) {
          return kernel.find(mark) != std::string_view::npos;
        })) {
      return true;
    }
  }
  return false;
}

std::vector<PricedCall> PricedCalls(const trace::Trace& graph, bool products_allow_tf32) {
  const trace::GraphNodes& nodes = graph.graph_nodes;
  const SparseTensors sparse(graph);
  return PricedCallsOf(
      {graph, nodes.parent, nodes.name,
       [&](RowId node) {
         kernel::AtenCall call = sparse.WithParts(node);
         call.products_allow_tf32 = products_allow_tf32;
         return Shared(kernel::OperatorsOf(call));
       }},
      [&](RowId node) { return nodes.kind[node] == trace::GraphNodeKind::kOperator; });
}

CallTexts TextsOf(const trace::HostOps& ops, RowId host_op) {
  return {ops.name[host_op], ops.input_dims[host_op], ops.input_types[host_op],
          ops.input_strides[host_op], ops.concrete_inputs[host_op]};
}

std::vector<PricedCall> PricedOperators(const trace::Trace& recording) {
  const trace::HostOps& ops = recording.host_ops;
  // A step repeats its calls, and layers do: their texts are parsed once.
  std::map<CallTexts, Asked> known;
  const bool allow_tf32 = ProductsRanInTf32(recording);
  const auto asked_by = [&](RowId op) {
    const auto [found, is_new] = known.try_emplace(TextsOf(ops, op));
    if (is_new) {
      kernel::AtenCall call = CallOfOperator(recording, op);
      call.products_allow_tf32 = allow_tf32;
      found->second = Shared(kernel::OperatorsOf(call));
    }
    return found->second;
  };
  return PricedCallsOf({recording, ops.parent, ops.name, asked_by}, [](RowId) { return true; });
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
    std::vector<const kernel::AtenTensor*> touched;
    for (const kernel::AtenTensor* input : call.InputTensors()) {
      if (IsTraceable(*input)) {
        read += BytesOf(*input);
        warm += recency.IsWarm(*input) ? BytesOf(*input) : 0;
        touched.push_back(input);
      }
    }
    for (const kernel::AtenTensor& output : call.outputs) {
      if (IsTraceable(output)) {
        touched.push_back(&output);
      }
    }
    std::ranges::for_each(touched, [&](const auto* tensor) { recency.Touch(*tensor); });
    shares.push_back(read > 0 ? warm / read : 0);
  }
  return shares;
}

}  // namespace orrery::workload
