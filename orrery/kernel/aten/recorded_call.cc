#include "orrery/kernel/aten/recorded_call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/data_type.h"
#include "orrery/trace/shape_text.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::kernel {
namespace {

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
  constexpr std::size_t kElements = 3;
  constexpr std::size_t kElementBytes = 4;
  constexpr std::size_t kDevice = 5;
  const Items members = ArrayItems(text.value);
  const std::string_view device = Unquoted(ItemAt(members, kDevice));
  const std::string_view type = ElementType(text.type);
  AtenTensor tensor{
      .dims = Sizes(text.shape),
      .strides = Sizes(text.strides),
      .type = FindDataType(type),
      .on_gpu = !device.empty() && !device.starts_with("cpu") && !device.starts_with("meta"),
      .is_defined = !type.empty() && !type.starts_with("nullptr"),
      .storage = ParseInteger(ItemAt(members, kStorage)),
      .offset = ParseInteger(ItemAt(members, kOffset)).value_or(0),
      .element_bytes =
          static_cast<double>(ParseInteger(ItemAt(members, kElementBytes)).value_or(0)),
      .id = ParseInteger(ItemAt(members, 0))};
  // It has a shape, but neither elements nor a device.
  tensor.is_sparse = tensor.is_defined && device.empty() && tensor.Elements() > 0 &&
                     ParseInteger(ItemAt(members, kElements)) == 0;
  return tensor;
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
  const auto type = FindDataType(text.type);
  if (type && value.empty()) {
    auto dims = Sizes(text.shape);
    const bool is_wrapped_number =
        dims.empty() && (*type == DataType::kFp64 || *type == DataType::kInt64);
    return AtenTensor{.dims = std::move(dims),
                      .strides = Sizes(text.strides),
                      .type = type,
                      .on_gpu = !is_wrapped_number,
                      .element_bytes = ElementBytes(ParseDataType(text.type))};
  }
  if (value.empty()) {
    return {};
  }
  return value.starts_with('[') ? ParseList(value) : ParseScalar(value);
}

}  // namespace

AtenCall CallOfNode(const trace::Trace& trace, RowId graph_node) {
  const trace::GraphNodes& nodes = trace.graph_nodes;
  const auto text = [&](const std::vector<StringId>& column) {
    return trace.Text(column[graph_node]);
  };
  return {
      .name = text(nodes.name),
      .inputs = ParseSide({text(nodes.input_values), text(nodes.input_shapes),
                           text(nodes.input_types), text(nodes.input_strides)}),
      .outputs = OnlyTensors(ParseSide({text(nodes.output_values), text(nodes.output_shapes),
                                        text(nodes.output_types), text(nodes.output_strides)})),
      .schema = text(nodes.op_schema)};
}

AtenCall CallOfOperator(const trace::Trace& trace, RowId host_op) {
  const trace::HostOps& operators = trace.host_ops;
  const auto text = [&](const std::vector<StringId>& column) {
    return trace.Text(column[host_op]);
  };
  AtenCall call{.name = text(operators.name)};
  const ArgumentText arrays{text(operators.concrete_inputs), text(operators.input_dims),
                            text(operators.input_types), text(operators.input_strides)};
  for (ArgumentText& argument : SplitArrays(arrays, true)) {
    argument.type = Unquoted(argument.type);
    call.inputs.push_back(RecordedArgument(argument));
  }
  return call;
}

}  // namespace orrery::kernel
