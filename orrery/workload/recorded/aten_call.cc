#include "orrery/workload/recorded/aten_call.h"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/decimal.h"
#include "orrery/kernel/data_type.h"
#include "orrery/trace/shape_text.h"

namespace orrery::workload {
namespace {

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

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && stop == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
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
  if (const auto number = ParseNumber(text)) {
    return *number;
  }
  return std::string(text);
}

// The inside of "Tensor(c10::BFloat16)"; empty for other types.
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

AtenValue ParseTensors(const ArgumentText& text, std::string_view types_text) {
  const Items values = ArrayItems(text.value);
  const Items shapes = ArrayItems(text.shape);
  const Items types = ArrayItems(types_text);
  const Items strides = ArrayItems(text.strides);
  std::vector<AtenTensor> tensors;
  tensors.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    tensors.push_back(ParseTensor({.value = values[i],
                                   .shape = ItemAt(shapes, i),
                                   .type = ItemAt(types, i),
                                   .strides = ItemAt(strides, i)}));
  }
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
                                                         : ParseTensors(text, types);
}

/// The arguments of a node on one side, as JSON arrays.
struct SideText {
  StringId values;
  StringId shapes;
  StringId types;
  StringId strides;
};

std::vector<AtenValue> ParseSide(const trace::Trace& trace, const SideText& side) {
  const Items values = ArrayItems(trace.Text(side.values));
  const Items shapes = ArrayItems(trace.Text(side.shapes));
  const Items types = ArrayItems(trace.Text(side.types));
  const Items strides = ArrayItems(trace.Text(side.strides));
  std::vector<AtenValue> arguments;
  arguments.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    arguments.push_back(ParseArgument({.value = values[i],
                                       .shape = ItemAt(shapes, i),
                                       .type = Unquoted(ItemAt(types, i)),
                                       .strides = ItemAt(strides, i)}));
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
        dims.empty() && (*type == kernel::DataType::kFp64 || *type == kernel::DataType::kInt64);
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

kernel::AtenCall CallOfNode(const trace::Trace& trace, RowId graph_node) {
  const trace::GraphNodes& nodes = trace.graph_nodes;
  return {.name = trace.Text(nodes.name[graph_node]),
          .inputs = ParseSide(trace, {.values = nodes.input_values[graph_node],
                                      .shapes = nodes.input_shapes[graph_node],
                                      .types = nodes.input_types[graph_node],
                                      .strides = nodes.input_strides[graph_node]}),
          .outputs = OnlyTensors(ParseSide(trace, {.values = nodes.output_values[graph_node],
                                                   .shapes = nodes.output_shapes[graph_node],
                                                   .types = nodes.output_types[graph_node],
                                                   .strides = nodes.output_strides[graph_node]}))};
}

kernel::AtenCall CallOfOperator(const trace::Trace& trace, RowId host_op) {
  const trace::HostOps& operators = trace.host_ops;
  const Items shapes = ArrayItems(trace.Text(operators.input_dims[host_op]));
  const Items types = ArrayItems(trace.Text(operators.input_types[host_op]));
  const Items strides = ArrayItems(trace.Text(operators.input_strides[host_op]));
  const Items values = ArrayItems(trace.Text(operators.concrete_inputs[host_op]));
  kernel::AtenCall call{.name = trace.Text(operators.name[host_op])};
  for (std::size_t i = 0; i < types.size(); ++i) {
    call.inputs.push_back(RecordedArgument({.value = ItemAt(values, i),
                                            .shape = ItemAt(shapes, i),
                                            .type = Unquoted(types[i]),
                                            .strides = ItemAt(strides, i)}));
  }
  return call;
}

}  // namespace orrery::workload
