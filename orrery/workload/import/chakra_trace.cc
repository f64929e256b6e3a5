#include "orrery/workload/import/chakra_trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/xplane/message.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/input.h"

namespace orrery::workload {
namespace {

// Field numbers of Chakra's protobuf schema.
namespace chakra_fields {

enum Node : std::uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kControlInputs = 4,
  kDataInputs = 5,
  kBegin = 6,
  kDuration = 7,
  kAttribute = 10,
};

enum Attribute : std::uint32_t {
  kAttributeName = 1,
  kAttributeDocument = 2,
  kDouble = 3,
  kFloat = 5,
  kFixed32 = 19,
  kSfixed32 = 23,
  kBool = 27,
};

constexpr std::array<std::uint32_t, 6> kIntegers{7, 9, 11, 13, 21, 25};  // of 32 and 64 bits
constexpr std::array<std::uint32_t, 2> kZigzags{15, 17};                 // sint32, sint64
constexpr std::array<std::uint32_t, 2> kTexts{29, 31};                   // string, bytes
constexpr std::array<std::uint32_t, 5> kLists{8, 10, 12, 14, 28};        // of integers, booleans

}  // namespace chakra_fields

using ingest::xplane::Field;
using ingest::xplane::MessageReader;
using MaybeElement = std::optional<JsonElement>;

/// Writers spell the keys differently.
MaybeElement AnyField(const JsonElement& object, std::string_view one, std::string_view other) {
  const MaybeElement found = orrery::Field(object, one);
  return found ? found : orrery::Field(object, other);
}

std::vector<std::uint64_t> IdsOf(const MaybeElement& list) {
  std::vector<std::uint64_t> ids;
  ForEachElement(list, [&](const JsonElement& element) {
    if (const auto id = Integer(element)) {
      ids.push_back(static_cast<std::uint64_t>(*id));
    }
  });
  return ids;
}

void CopyAttributes(const JsonElement& element, ChakraNode& node) {
  constexpr std::array<std::string_view, 7> kNumbers = {
      "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "num_ops", "tensor_size"};
  for (const std::string_view name : kNumbers) {
    if (const auto number = Integer(orrery::Field(element, name))) {
      node.attributes.emplace(name, *number);
    }
  }
  if (const auto group = Text(orrery::Field(element, "pg_name"))) {
    node.attributes.emplace("pg_name", std::string(*group));
  }
  bool is_cpu_op = false;
  const MaybeElement flag = orrery::Field(element, "is_cpu_op");
  if (flag && !flag->get(is_cpu_op)) {
    node.attributes.emplace("is_cpu_op", is_cpu_op);
  }
}

Result<ChakraNode> NodeOf(const JsonElement& element, std::size_t index) {
  const auto id = Integer(AnyField(element, "Id", "id"));
  if (!id || *id < 0) {
    return Refuse("node {} has no id", index);
  }
  ChakraNode node{.id = static_cast<std::uint64_t>(*id)};
  node.name = Text(AnyField(element, "Name", "name")).value_or("");
  const std::int64_t type = Integer(AnyField(element, "NodeType", "type")).value_or(0);
  node.type = static_cast<ChakraType>(type >= 0 && type <= 7 ? type : 0);
  node.control_inputs = IdsOf(AnyField(element, "ctrlDeps", "ctrl_deps"));
  node.data_inputs = IdsOf(AnyField(element, "data_deps", "dataDeps"));
  node.duration_us = Integer(AnyField(element, "runtime", "duration_micros")).value_or(0);
  CopyAttributes(element, node);
  return node;
}

constexpr std::uint64_t kLastType = static_cast<std::uint64_t>(ChakraType::kCollective);

/// Reads the numbers of a varint list, be it packed into one field or not.
template <typename T>
void AppendNumbers(const Field& field, std::vector<T>& numbers) {
  if (!field.is_bytes) {
    numbers.push_back(static_cast<T>(field.value));
    return;
  }
  std::uint64_t number = 0;
  int shift = 0;
  for (const char byte : field.bytes) {
    const auto bits = static_cast<std::uint64_t>(static_cast<unsigned char>(byte));
    number |= shift < 64 ? (bits & 0x7F) << shift : 0;
    shift += 7;
    if ((bits & 0x80) == 0) {
      numbers.push_back(static_cast<T>(number));
      number = 0;
      shift = 0;
    }
  }
}

ChakraValue ListOf(std::string_view message) {
  std::vector<std::int64_t> numbers;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->number == 1) {
      AppendNumbers(*field, numbers);
    }
  }
  return numbers;
}

/// The value of an attribute; nothing for kinds that no reader asks for.
std::optional<ChakraValue> ValueOf(const Field& field) {
  const auto is_in = [&](const auto& numbers) {
    return std::ranges::find(numbers, field.number) != numbers.end();
  };
  if (is_in(chakra_fields::kIntegers)) {
    return field.integer();
  }
  if (is_in(chakra_fields::kZigzags)) {
    return static_cast<std::int64_t>(field.value >> 1) ^
           -static_cast<std::int64_t>(field.value & 1);
  }
  if (is_in(chakra_fields::kTexts)) {
    return std::string(field.bytes);
  }
  if (is_in(chakra_fields::kLists)) {
    return ListOf(field.bytes);
  }
  const auto low = static_cast<std::uint32_t>(field.value);
  switch (field.number) {
    case chakra_fields::kDouble:
      return std::bit_cast<double>(field.value);
    case chakra_fields::kFloat:
      return double{std::bit_cast<float>(low)};
    case chakra_fields::kFixed32:
      return std::int64_t{low};
    case chakra_fields::kSfixed32:
      return std::int64_t{static_cast<std::int32_t>(low)};
    case chakra_fields::kBool:
      return field.value != 0;
    default:
      return std::nullopt;
  }
}

void ReadAttribute(std::string_view message, ChakraNode& node, trace::ProblemLog& problems) {
  std::string name;
  std::optional<ChakraValue> value;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->number == chakra_fields::kAttributeName) {
      name = field->bytes;
    } else if (field->number != chakra_fields::kAttributeDocument) {
      value = ValueOf(*field);
    }
  }
  if (value) {
    node.attributes.insert_or_assign(std::move(name), *std::move(value));
  } else {
    problems.Note("attributes of an unsupported kind", 1, name);
  }
}

ChakraNode NodeOf(std::string_view message, trace::ProblemLog& problems) {
  ChakraNode node;
  MessageReader reader(message);
  while (const auto field = reader.Next()) {
    switch (field->number) {
      case chakra_fields::kId:
        node.id = field->value;
        break;
      case chakra_fields::kName:
        node.name = field->bytes;
        break;
      case chakra_fields::kType:
        node.type = static_cast<ChakraType>(field->value <= kLastType ? field->value : 0);
        break;
      case chakra_fields::kControlInputs:
        AppendNumbers(*field, node.control_inputs);
        break;
      case chakra_fields::kDataInputs:
        AppendNumbers(*field, node.data_inputs);
        break;
      case chakra_fields::kBegin:
        node.begin_us = field->integer();
        break;
      case chakra_fields::kDuration:
        node.duration_us = field->integer();
        break;
      case chakra_fields::kAttribute:
        ReadAttribute(field->bytes, node, problems);
        break;
      default:  // inputs and outputs: tensors, of which no time follows
        break;
    }
  }
  if (reader.is_damaged()) {
    problems.Loss("damaged nodes", 1, fmt::format("node {}", node.id));
  }
  return node;
}

std::string VersionOf(std::string_view metadata) {
  MessageReader reader(metadata);
  while (const auto field = reader.Next()) {
    if (field->number == 1) {
      return std::string(field->bytes);
    }
  }
  return {};
}

/// Removes the length of the next message from the front; nothing if it is invalid.
std::optional<std::uint64_t> TakeLength(std::string_view& rest) {
  std::uint64_t length = 0;
  for (int shift = 0; shift < 35 && !rest.empty(); shift += 7) {
    const auto bits = static_cast<std::uint64_t>(static_cast<unsigned char>(rest.front()));
    rest.remove_prefix(1);
    length |= (bits & 0x7F) << shift;
    if ((bits & 0x80) == 0) {
      return length;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ChakraTrace> ParseChakraJson(std::string_view json) {
  JsonText text;
  const MaybeElement document = text.Parse(json);
  const MaybeElement graph = orrery::Field(document, "workload_graph");
  if (!graph || !graph->is_array()) {
    return Refuse("no Chakra execution trace: a JSON object with a list \"workload_graph\"");
  }
  ChakraTrace trace;
  for (const JsonElement element : simdjson::dom::array(*graph)) {
    ORRERY_TRY(ChakraNode node, NodeOf(element, trace.nodes.size()));
    trace.nodes.push_back(std::move(node));
  }
  return trace;
}

Result<ChakraTrace> ParseChakra(std::string_view bytes) {
  ChakraTrace trace;
  std::string_view rest = bytes;
  bool is_first = true;
  while (!rest.empty()) {
    const std::size_t at = bytes.size() - rest.size();
    const std::optional<std::uint64_t> length = TakeLength(rest);
    if (!length || *length > rest.size()) {
      trace.problems.Loss("the file is truncated", 1, fmt::format("byte {}", at));
      break;
    }
    const std::string_view message = rest.substr(0, *length);
    rest.remove_prefix(*length);
    if (is_first) {
      trace.version = VersionOf(message);
    } else {
      trace.nodes.push_back(NodeOf(message, trace.problems));
    }
    is_first = false;
  }
  if (trace.nodes.empty()) {
    return Refuse("no Chakra execution trace: it has no nodes");
  }
  return trace;
}

Result<ChakraTrace> ReadChakra(const std::string& path) {
  ORRERY_TRY(const std::string bytes, ReadUnpackedFile(path));
  const bool is_json = Trimmed(bytes).starts_with('{');
  Result<ChakraTrace> trace = is_json ? ParseChakraJson(bytes) : ParseChakra(bytes);
  if (!trace) {
    return FailWithin(path, trace);
  }
  return trace;
}

}  // namespace orrery::workload
