#include "orrery/ingest/execution_trace/collectives.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {
namespace {

using trace::Trace;

// A collective or point-to-point call as one graph node describes it.
struct CollectiveCall {
  std::string name;
  CollectiveKind kind = CollectiveKind::kUnknown;
  DataType data_type = DataType::kUnknown;
  TensorSize in;
  TensorSize out;
  std::string in_splits;  // JSON arrays; empty when there are none
  std::string out_splits;
  std::int64_t sequence = -1;
  std::int32_t rank = -1;  // in the group: of the peer for send and receive, of the root for
                           // broadcast and its kin, else of this process
  bool is_async = false;
  GroupReference group;
};

// "[]" and everything that is no list say that there are no splits.
std::string SplitList(const std::optional<JsonElement>& value) {
  return ArraySize(value) > 0 ? simdjson::minify(*value) : std::string();
}

DataType FirstTensorType(const std::optional<JsonElement>& types) {
  DataType type = DataType::kUnknown;
  for (std::size_t i = 0; i < ArraySize(types) && type == DataType::kUnknown; ++i) {
    type = TensorElementType(Text(ElementAt(types, i)).value_or(""));
  }
  return type;
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

void ReadInputs(const std::optional<JsonElement>& inputs, std::size_t name, CollectiveCall& call) {
  if (name > 3) {
    call.in = SumTensors(ElementAt(inputs, 0));
  }
  // A number, or a pair of number and point-to-point flag.
  const auto sequence = ElementAt(inputs, name - 3);
  call.sequence = Integer(sequence).value_or(Integer(ElementAt(sequence, 0)).value_or(-1));
  // A pointer in old files, later a pair of name and description.
  const auto group = ElementAt(inputs, name - 2);
  call.group.communicator = static_cast<std::uint64_t>(Integer(group).value_or(0));
  call.group.name = Text(ElementAt(group, 0)).value_or("");
  call.group.description = Text(ElementAt(group, 1)).value_or("");
  call.rank = SmallInteger(ElementAt(inputs, name - 1));
  call.name = *Text(ElementAt(inputs, name));
  call.in_splits = SplitList(ElementAt(inputs, name + 1));
  call.out_splits = SplitList(ElementAt(inputs, name + 2));
  const std::size_t after_splits = ArraySize(inputs) - std::min(ArraySize(inputs), name + 3);
  if (after_splits >= 3) {
    call.group.rank_start = SmallInteger(ElementAt(inputs, name + 3));
    call.group.rank_stride = SmallInteger(ElementAt(inputs, name + 4));
    call.group.num_ranks = SmallInteger(ElementAt(inputs, name + 5));
  } else if (after_splits > 0) {
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
    size = {.elements = *elements, .bytes = SizeInBytes(*elements, type)};
  }
}

void ReadAttributes(const std::optional<JsonElement>& attributes, CollectiveCall& call) {
  OverlayText(attributes, "collective_name", call.name);
  OverlayText(attributes, "pg_name", call.group.name);
  OverlayText(attributes, "pg_desc", call.group.description);
  OverlayNumber(attributes, "pg_size", call.group.num_ranks);
  OverlayNumber(attributes, "global_rank_start", call.group.rank_start);
  OverlayNumber(attributes, "global_rank_stride", call.group.rank_stride);
  const DataType type = ParseDataType(Text(Field(attributes, "dtype")).value_or(""));
  call.data_type = type == DataType::kUnknown ? call.data_type : type;
  OverlaySize(attributes, "in_msg_nelems", call.data_type, call.in);
  OverlaySize(attributes, "out_msg_nelems", call.data_type, call.out);
  OverlayText(attributes, "in_split_size", call.in_splits);
  OverlayText(attributes, "out_split_size", call.out_splits);
  for (std::string* splits : {&call.in_splits, &call.out_splits}) {
    *splits = *splits == "[]" ? "" : *splits;
  }
  bool is_async = false;
  if (const auto flag = Field(attributes, "is_asynchronized_op"); flag && !flag->get(is_async)) {
    call.is_async = is_async;
  }
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
    // "Tensor[] tensors", "bool async_op=True" -> "tensors", "async_op".
    const std::string_view parameter = Trimmed(rest.substr(0, std::min(end, rest.find('='))));
    if (parameter != "*") {
      names.push_back(parameter.substr(parameter.rfind(' ') + 1));
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

// Reads a node `record_param_comms`: its inputs, whose layout depends on the generation, and the
// attributes that newer writers add. Nothing for "wait".
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

// Returns true if the name is that of a communication operator ("c10d::allreduce_",
// "_c10d_functional::all_reduce"); waits are not.
bool IsCollectiveOperator(std::string_view name) {
  return (name.starts_with("c10d::") || name.starts_with("_c10d_functional::")) &&
         trace::ParseCollectiveName(name).has_value();
}

// Reads a communication operator; its schema says which input is what.
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

struct CallOfNode {
  RowId node = kNoRow;
  CollectiveCall call;
};

std::vector<RowId> FindNodes(const Trace& trace, auto&& matches) {
  // Names repeat: ask once for each.
  std::vector<signed char> answers(trace.strings.size(), -1);
  std::vector<RowId> found;
  for (RowId node = 0; node < trace.graph_nodes.size(); ++node) {
    const StringId name = trace.graph_nodes.name[node];
    signed char& answer = answers[static_cast<std::size_t>(name)];
    if (answer < 0) {
      answer = matches(trace.Text(name)) ? 1 : 0;
    }
    if (answer == 1) {
      found.push_back(node);
    }
  }
  return found;
}

// An operator such as _c10d_functional::all_reduce calls c10d::allreduce_: one collective, the
// outer one, which knows its group by name. Parents may come after their children in files that
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
  const bool is_point_to_point =
      call.kind == CollectiveKind::kSend || call.kind == CollectiveKind::kRecv;
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
      .peer = is_point_to_point ? call.rank : -1,
      .is_async = static_cast<std::uint8_t>(call.is_async ? 1 : 0),
      .graph_node = found.node,
  });
}

// Adds to a sum that is -1 before the first summand and after an overflow.
void AddTo(std::int64_t& sum, std::int64_t summand) {
  const bool is_first = sum < 0;
  if (summand < 0 || __builtin_add_overflow(is_first ? 0 : sum, summand, &sum)) {
    sum = -1;
  }
}

void AddNested(const JsonElement& value, TensorSize& size) {
  const auto elements = Integer(ElementAt(value, 3));
  const auto element_bytes = Integer(ElementAt(value, 4));
  const bool is_tensor = ArraySize(value) == 6 && Integer(ElementAt(value, 0)) && elements &&
                         element_bytes && Text(ElementAt(value, 5));
  if (!is_tensor) {
    return ForEachElement(value, [&](const JsonElement& element) { AddNested(element, size); });
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(*elements, *element_bytes, &bytes)) {
    bytes = -1;
  }
  AddTo(size.elements, *elements);
  AddTo(size.bytes, bytes);
}

}  // namespace

void ReadCollectives(Trace& trace) {
  using enum CollectiveKind;
  // In calls of these kinds, `rank` is this process.
  constexpr std::array kOwnRank{kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBarrier};
  ReadDeclaredGroups(trace);
  const auto recorded =
      FindNodes(trace, [](std::string_view name) { return name == "record_param_comms"; });
  std::vector<CallOfNode> calls;
  if (recorded.empty()) {
    calls = ReadOperatorCalls(trace, FindNodes(trace, IsCollectiveOperator));
  }
  for (const RowId node : recorded) {
    if (auto call = ReadRecordedCall(trace, node)) {
      calls.push_back({node, *std::move(call)});
    }
  }
  std::vector<RowId> groups;
  for (const CallOfNode& found : calls) {
    groups.push_back(ResolveGroup(trace, found.call.group));
    AppendCall(trace, found, groups.back());
  }
  for (std::size_t i = 0; i < calls.size() && trace.info.rank < 0; ++i) {
    if (std::ranges::find(kOwnRank, calls[i].call.kind) != kOwnRank.end()) {
      trace.info.rank = GlobalRank(trace, groups[i], calls[i].call.rank);
    }
  }
}

TensorSize SumTensors(const std::optional<JsonElement>& value) {
  TensorSize size;
  if (value) {
    AddNested(*value, size);
  }
  return size;
}

DataType TensorElementType(std::string_view type) {
  constexpr std::string_view kOpening = "Tensor(";
  const std::size_t opening = type.find(kOpening);
  if (opening == std::string_view::npos) {
    return DataType::kUnknown;
  }
  type.remove_prefix(opening + kOpening.size());
  return ParseDataType(type.substr(0, type.find(')')));
}

}  // namespace orrery::ingest::execution_trace
