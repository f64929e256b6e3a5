#include "orrery/workload/recorded/priced_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/decimal.h"
#include "orrery/base/parse_number.h"
#include "orrery/base/string_table.h"
#include "orrery/base/units.h"
#include "orrery/kernel/aten.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/shape_text.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {
namespace {

using kernel::AtenMeaning;

/// kernel::AtenOperators, shared.
struct Asked {
  AtenMeaning meaning = AtenMeaning::kNoKernel;
  std::shared_ptr<const std::vector<kernel::Operator>> operators = {};
  bool only_passes_on = false;
};

Asked Shared(kernel::AtenOperators asked) {
  return {.meaning = asked.meaning,
          .operators =
              std::make_shared<const std::vector<kernel::Operator>>(std::move(asked.operators)),
          .only_passes_on = asked.only_passes_on};
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
      if (forest.names[ancestor] == forest.names[node]) {
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

template <typename IsOperator>
std::vector<PricedCall> PricedCallsOf(const CallForest& forest, const IsOperator& is_operator) {
  const Below below = LookBelow(forest);
  std::vector<std::uint8_t> is_covered(forest.size());
  std::vector<std::uint8_t> is_priced(forest.size());
  std::vector<PricedCall> calls;
  std::map<RowId, OpaqueCall> opaque;
  for (RowId node = 0; node < forest.size(); ++node) {
    const RowId parent = forest.parents[node];
    is_covered[node] = parent != kNoRow ? is_covered[parent] : std::uint8_t{0};
    if (is_covered[node] != 0 || below.is_handed_on[node] != 0 || !is_operator(node)) {
      continue;
    }
    Asked asked = forest.asked_by(node);
    const bool is_leaf = below.has_calls[node] == 0;
    const bool is_priced_here =
        (asked.meaning == AtenMeaning::kPriced && (!asked.only_passes_on || is_leaf)) ||
        (asked.meaning == AtenMeaning::kUnknown && is_leaf);
    PricedCall call{
        .node = node, .meaning = asked.meaning, .operators = std::move(asked.operators)};
    if (is_priced_here) {
      is_covered[node] = 1;
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

using kernel::AtenTensor;
using kernel::AtenValue;
using trace::ArrayItems;
using trace::Unquoted;
using Items = std::vector<std::string_view>;

/// One argument as JSON text; the type without quotes.
struct ArgumentText {
  std::string_view value;
  std::string_view shape;
  std::string_view type;
  std::string_view strides;
};

std::string_view ItemAt(const Items& items, std::size_t position) {
  return position < items.size() ? items[position] : std::string_view();
}

std::vector<std::int64_t> Sizes(std::string_view text) {
  return trace::IntegerItems(text).value_or(std::vector<std::int64_t>{});
}

// Both writers' booleans: "true" in graphs, "True" in profiles.
std::optional<std::int64_t> ParseFlag(std::string_view text) {
  if (text == "true" || text == "True") {
    return 1;
  }
  return text == "false" || text == "False" ? std::optional<std::int64_t>(0) : std::nullopt;
}

std::optional<std::int64_t> ParseIntegerOrFlag(std::string_view text) {
  const auto flag = ParseFlag(text);
  return flag ? flag : ParseInteger(text);
}

// A list of integers or booleans; none for lists of other things.
AtenValue ParseList(std::string_view text) {
  std::vector<std::int64_t> integers;
  for (const std::string_view item : ArrayItems(text)) {
    const auto integer = ParseIntegerOrFlag(item);
    if (!integer) {
      return {};
    }
    integers.push_back(*integer);
  }
  return integers;
}

// "1" is an integer and "1.0" a number, as the writers print them.
AtenValue ParseScalar(std::string_view text) {
  if (text.find_first_of(".eE") == std::string_view::npos || ParseFlag(text)) {
    if (const auto integer = ParseIntegerOrFlag(text)) {
      return *integer;
    }
  }
  if (const auto number = ParseWhole<double>(text)) {
    return *number;
  }
  return std::string(text);
}

// The element type in "Tensor(c10::BFloat16)"; empty for other types.
std::string_view ElementType(std::string_view type) {
  constexpr std::string_view kOpening = "Tensor(";
  return type.starts_with(kOpening) && type.ends_with(')')
             ? type.substr(kOpening.size(), type.size() - kOpening.size() - 1)
             : std::string_view();
}

// A tensor's value is [id, storage, offset, elements, bytes of an element, device].
AtenTensor ParseTensor(const ArgumentText& text) {
  constexpr std::size_t kStorage = 1;
  constexpr std::size_t kOffset = 2;
  constexpr std::size_t kDevice = 5;
  const Items members = ArrayItems(text.value);
  const std::string_view device = Unquoted(ItemAt(members, kDevice));
  const std::string_view type = ElementType(text.type);
  return {.dims = Sizes(text.shape),
          .strides = Sizes(text.strides),
          .type = kernel::FindDataType(type),
          .on_gpu = !device.empty() && !device.starts_with("cpu") && !device.starts_with("meta"),
          .is_defined = !type.empty() && !type.starts_with("nullptr"),
          .storage = ParseInteger(ItemAt(members, kStorage)),
          .offset = ParseInteger(ItemAt(members, kOffset)).value_or(0)};
}

// The arguments of arrays of values, shapes, types and strides; as many as there are values, or
// types where a profile has no values.
std::vector<ArgumentText> SplitArrays(const ArgumentText& arrays, bool by_type = false) {
  const Items values = ArrayItems(arrays.value);
  const Items shapes = ArrayItems(arrays.shape);
  const Items types = ArrayItems(arrays.type);
  const Items strides = ArrayItems(arrays.strides);
  std::vector<ArgumentText> arguments;
  for (std::size_t i = 0; i < (by_type ? types : values).size(); ++i) {
    arguments.push_back({.value = ItemAt(values, i),
                         .shape = ItemAt(shapes, i),
                         .type = ItemAt(types, i),
                         .strides = ItemAt(strides, i)});
  }
  return arguments;
}

AtenValue ParseTensors(const ArgumentText& arrays) {
  std::vector<AtenTensor> tensors;
  std::ranges::transform(SplitArrays(arrays), std::back_inserter(tensors), ParseTensor);
  return tensors;
}

// Types are "Tensor(float)", "GenericList[Tensor(float),None]", "Int", "None", …
AtenValue ParseArgument(const ArgumentText& text) {
  constexpr std::string_view kList = "GenericList";
  if (!ElementType(text.type).empty()) {
    return ParseTensor(text);
  }
  if (!text.type.starts_with(kList)) {
    return text.type == "None" ? AtenValue() : ParseScalar(Unquoted(text.value));
  }
  const std::string_view types = text.type.substr(kList.size());
  return types.find("Tensor(") == std::string_view::npos ? ParseList(text.value)
                                                         : ParseTensors({.value = text.value,
                                                                         .shape = text.shape,
                                                                         .type = types,
                                                                         .strides = text.strides});
}

std::vector<AtenValue> ParseSide(const ArgumentText& arrays) {
  std::vector<AtenValue> arguments;
  for (ArgumentText& argument : SplitArrays(arrays)) {
    argument.type = Unquoted(argument.type);
    arguments.push_back(ParseArgument(argument));
  }
  return arguments;
}

// Outputs keep their position; a non-tensor becomes an undefined tensor, lists are flattened.
std::vector<AtenTensor> OnlyTensors(std::vector<AtenValue> values) {
  std::vector<AtenTensor> tensors;
  for (AtenValue& value : values) {
    if (auto* list = std::get_if<std::vector<AtenTensor>>(&value)) {
      tensors.insert(tensors.end(), list->begin(), list->end());
    } else if (auto* tensor = std::get_if<AtenTensor>(&value)) {
      tensors.push_back(std::move(*tensor));
    } else {
      tensors.push_back({.is_defined = false});
    }
  }
  return tensors;
}

// The profiler says "TensorList" and the shapes of its tensors.
AtenValue RecordedTensors(const ArgumentText& text) {
  const Items strides = ArrayItems(text.strides);
  std::vector<AtenTensor> tensors;
  for (const std::string_view shape : ArrayItems(text.shape)) {
    tensors.push_back({.dims = Sizes(shape), .strides = Sizes(ItemAt(strides, tensors.size()))});
  }
  return tensors;
}

AtenValue RecordedArgument(const ArgumentText& text) {
  const std::string_view value = Unquoted(text.value);
  if (text.type == "TensorList") {
    return RecordedTensors(text);
  }
  const auto type = kernel::FindDataType(text.type);
  if (type && value.empty()) {
    auto dims = Sizes(text.shape);
    const bool is_wrapped_number =
        dims.empty() && (*type == DataType::kFp64 || *type == DataType::kInt64);
    return AtenTensor{.dims = std::move(dims),
                      .strides = Sizes(text.strides),
                      .type = type,
                      .on_gpu = !is_wrapped_number};
  }
  if (value.empty()) {
    return {};
  }
  return value.starts_with('[') ? ParseList(value) : ParseScalar(value);
}

}  // namespace

std::vector<PricedCall> PricedCalls(const trace::Trace& graph) {
  const trace::GraphNodes& nodes = graph.graph_nodes;
  return PricedCallsOf(
      {graph, nodes.parent, nodes.name,
       [&](RowId node) { return Shared(kernel::OperatorsOf(CallOfNode(graph, node))); }},
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
  const auto asked_by = [&](RowId op) {
    const auto [found, is_new] = known.try_emplace(TextsOf(ops, op));
    if (is_new) {
      found->second = Shared(kernel::OperatorsOf(CallOfOperator(recording, op)));
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

kernel::AtenCall CallOfNode(const trace::Trace& trace, RowId graph_node) {
  const trace::GraphNodes& nodes = trace.graph_nodes;
  const auto text = [&](const std::vector<StringId>& column) {
    return trace.Text(column[graph_node]);
  };
  return {
      .name = text(nodes.name),
      .inputs = ParseSide({text(nodes.input_values), text(nodes.input_shapes),
                           text(nodes.input_types), text(nodes.input_strides)}),
      .outputs = OnlyTensors(ParseSide({text(nodes.output_values), text(nodes.output_shapes),
                                        text(nodes.output_types), text(nodes.output_strides)}))};
}

kernel::AtenCall CallOfOperator(const trace::Trace& trace, RowId host_op) {
  const trace::HostOps& operators = trace.host_ops;
  const auto text = [&](const std::vector<StringId>& column) {
    return trace.Text(column[host_op]);
  };
  kernel::AtenCall call{.name = text(operators.name)};
  const ArgumentText arrays{text(operators.concrete_inputs), text(operators.input_dims),
                            text(operators.input_types), text(operators.input_strides)};
  for (ArgumentText& argument : SplitArrays(arrays, true)) {
    argument.type = Unquoted(argument.type);
    call.inputs.push_back(RecordedArgument(argument));
  }
  return call;
}

}  // namespace orrery::workload
