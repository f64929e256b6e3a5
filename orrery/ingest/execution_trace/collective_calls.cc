#include "orrery/ingest/execution_trace/collective_calls.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "orrery/base/text.h"
#include "orrery/trace/collective_names.h"
#include "orrery/trace/data_types.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::CollectiveKind;
using trace::DataType;
using trace::Trace;

// "[]" and everything that is no list say that there are no splits.
std::string SplitList(const std::optional<JsonElement>& value) {
  return ArraySize(value) > 0 ? simdjson::minify(*value) : std::string();
}

std::string SplitText(std::string_view text) {
  return text == "[]" ? std::string() : std::string(text);
}

DataType FirstTensorType(const std::optional<JsonElement>& types) {
  for (std::size_t i = 0; i < ArraySize(types); ++i) {
    const DataType type = TensorElementType(Text(ElementAt(types, i)).value_or(""));
    if (type != DataType::kUnknown) {
      return type;
    }
  }
  return DataType::kUnknown;
}

DataType TypeOfTensors(const Trace& trace, RowId node) {
  JsonText text;
  const DataType type =
      FirstTensorType(text.Parse(trace.Text(trace.graph_nodes.input_types[node])));
  return type != DataType::kUnknown
             ? type
             : FirstTensorType(text.Parse(trace.Text(trace.graph_nodes.output_types[node])));
}

TensorSize SumOutputs(const Trace& trace, RowId node) {
  JsonText text;
  return SumTensors(text.Parse(trace.Text(trace.graph_nodes.output_values[node])));
}

// The call's name is the first plain string: before it come tensors (not for barriers and waits),
// sequence number, group and rank, and "<Object>" where the writer could not print one of them.
std::optional<std::size_t> FindName(const std::optional<JsonElement>& inputs) {
  constexpr std::size_t kBeforeName = 3;
  for (std::size_t i = kBeforeName; i < ArraySize(inputs); ++i) {
    const auto text = Text(ElementAt(inputs, i));
    if (text && !text->starts_with('<')) {
      return i;
    }
  }
  return std::nullopt;
}

// A number, or a pair of number and point-to-point flag.
std::int64_t ReadSequence(const std::optional<JsonElement>& value) {
  const auto number = Integer(value);
  return number ? *number : Integer(ElementAt(value, 0)).value_or(-1);
}

// A pointer in old files, later a pair of name and description.
void ReadGroup(const std::optional<JsonElement>& value, GroupMention& group) {
  group.communicator = static_cast<std::uint64_t>(Integer(value).value_or(0));
  group.name = Text(ElementAt(value, 0)).value_or("");
  group.description = Text(ElementAt(value, 1)).value_or("");
}

void ReadInputs(const std::optional<JsonElement>& inputs, std::size_t name, CollectiveCall& call) {
  if (name > 3) {
    call.in = SumTensors(ElementAt(inputs, 0));
  }
  call.sequence = ReadSequence(ElementAt(inputs, name - 3));
  ReadGroup(ElementAt(inputs, name - 2), call.group);
  call.rank = SmallInteger(ElementAt(inputs, name - 1));
  call.name = *Text(ElementAt(inputs, name));
  call.in_splits = SplitList(ElementAt(inputs, name + 1));
  call.out_splits = SplitList(ElementAt(inputs, name + 2));
  const std::size_t behind_splits = ArraySize(inputs) - std::min(ArraySize(inputs), name + 3);
  if (behind_splits >= 3) {
    call.group.rank_start = SmallInteger(ElementAt(inputs, name + 3));
    call.group.rank_stride = SmallInteger(ElementAt(inputs, name + 4));
    call.group.num_ranks = SmallInteger(ElementAt(inputs, name + 5));
  } else if (behind_splits > 0) {
    call.group.num_ranks = SmallInteger(ElementAt(inputs, name + 3));
  }
}

void OverlayText(const std::optional<JsonElement>& attributes, std::string_view key,
                 std::string& target) {
  if (const auto text = Text(Field(attributes, key))) {
    target = *text;
  }
}

void OverlayNumber(const std::optional<JsonElement>& attributes, std::string_view key,
                   std::int32_t& target) {
  if (const std::int32_t number = SmallInteger(Field(attributes, key)); number >= 0) {
    target = number;
  }
}

void OverlaySize(const std::optional<JsonElement>& attributes, std::string_view key, DataType type,
                 TensorSize& size) {
  const auto elements = Integer(Field(attributes, key));
  if (elements && *elements >= 0 && *elements != size.elements) {
    size = {.elements = *elements, .bytes = trace::SizeInBytes(*elements, type)};
  }
}

void ReadAttributes(const std::optional<JsonElement>& attributes, CollectiveCall& call) {
  OverlayText(attributes, "collective_name", call.name);
  OverlayText(attributes, "pg_name", call.group.name);
  OverlayText(attributes, "pg_desc", call.group.description);
  OverlayNumber(attributes, "pg_size", call.group.num_ranks);
  OverlayNumber(attributes, "global_rank_start", call.group.rank_start);
  OverlayNumber(attributes, "global_rank_stride", call.group.rank_stride);
  const DataType type = trace::ParseDataType(Text(Field(attributes, "dtype")).value_or(""));
  call.data_type = type == DataType::kUnknown ? call.data_type : type;
  OverlaySize(attributes, "in_msg_nelems", call.data_type, call.in);
  OverlaySize(attributes, "out_msg_nelems", call.data_type, call.out);
  if (const auto splits = Text(Field(attributes, "in_split_size"))) {
    call.in_splits = SplitText(*splits);
  }
  if (const auto splits = Text(Field(attributes, "out_split_size"))) {
    call.out_splits = SplitText(*splits);
  }
  bool is_async = false;
  if (const auto flag = Field(attributes, "is_asynchronized_op"); flag && !flag->get(is_async)) {
    call.is_async = is_async;
  }
}

// "Tensor[] tensors", "bool async_op=True" -> "tensors", "async_op".
std::string_view ParameterName(std::string_view parameter) {
  parameter = Trimmed(parameter.substr(0, parameter.find('=')));
  const std::size_t space = parameter.rfind(' ');
  return space == std::string_view::npos ? parameter : parameter.substr(space + 1);
}

// Names of the parameters of "c10d::send(Tensor[] tensors, int dst) -> …", in order.
std::vector<std::string_view> ParameterNames(std::string_view schema) {
  std::vector<std::string_view> names;
  const std::size_t opening = schema.find('(');
  const std::size_t closing = std::min(schema.find(") ->"), schema.size());
  if (opening == std::string_view::npos || closing <= opening) {
    return names;
  }
  std::string_view rest = schema.substr(opening + 1, closing - opening - 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    if (const std::string_view name = ParameterName(rest.substr(0, end)); name != "*") {
      names.push_back(name);
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

void ReadParameter(std::string_view name, const std::optional<JsonElement>& value,
                   CollectiveCall& call) {
  if (name == "output_split_sizes") {
    call.out_splits = SplitList(value);
  } else if (name == "input_split_sizes") {
    call.in_splits = SplitList(value);
  } else if (name == "dst" || name == "src") {
    call.rank = SmallInteger(value);
  } else if (name == "group_name") {
    call.group.name = Text(value).value_or("");
  } else if (name == "group_size") {
    call.group.num_ranks = SmallInteger(value);
  } else if (name == "async_op") {
    bool is_async = false;
    call.is_async = value && !value->get(is_async) && is_async;
  } else if (name.starts_with("output")) {
    call.out = SumTensors(value);
  } else if (const TensorSize size = SumTensors(value); size.elements >= 0) {
    call.in = size;
  }
}

}  // namespace

bool CollectiveCall::is_point_to_point() const {
  return kind == CollectiveKind::kSend || kind == CollectiveKind::kRecv;
}

bool CollectiveCall::rank_is_own() const {
  using enum CollectiveKind;
  constexpr std::array kOwn{kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBarrier};
  return std::find(kOwn.begin(), kOwn.end(), kind) != kOwn.end();
}

std::optional<CollectiveCall> ReadRecordedCall(const Trace& trace, RowId node) {
  CollectiveCall call;
  JsonText inputs_text;
  const auto inputs = inputs_text.Parse(trace.Text(trace.graph_nodes.input_values[node]));
  if (const auto name = FindName(inputs)) {
    ReadInputs(inputs, *name, call);
  }
  call.out = SumOutputs(trace, node);
  call.data_type = TypeOfTensors(trace, node);
  JsonText attributes_text;
  ReadAttributes(attributes_text.ParseFields(trace.Text(trace.graph_nodes.attributes[node])), call);
  if (call.name == "wait") {
    return std::nullopt;
  }
  call.kind = trace::ParseCollectiveName(call.name).value_or(CollectiveKind::kUnknown);
  return call;
}

bool IsCollectiveOperator(std::string_view name) {
  return (name.starts_with("c10d::") || name.starts_with("_c10d_functional::")) &&
         trace::ParseCollectiveName(name).has_value();
}

CollectiveCall ReadOperatorCall(const Trace& trace, RowId node) {
  CollectiveCall call;
  call.name = trace.Text(trace.graph_nodes.name[node]);
  call.kind = trace::ParseCollectiveName(call.name).value_or(CollectiveKind::kUnknown);
  call.data_type = TypeOfTensors(trace, node);
  JsonText text;
  const auto inputs = text.Parse(trace.Text(trace.graph_nodes.input_values[node]));
  const auto names = ParameterNames(trace.Text(trace.graph_nodes.op_schema[node]));
  for (std::size_t i = 0; i < ArraySize(inputs); ++i) {
    ReadParameter(i < names.size() ? names[i] : "", ElementAt(inputs, i), call);
  }
  if (call.out.elements < 0) {
    // Functional forms return their result, the others work in place.
    const TensorSize returned = SumOutputs(trace, node);
    call.out = returned.elements >= 0 ? returned : call.in;
  }
  return call;
}

}  // namespace orrery::ingest::execution_trace
