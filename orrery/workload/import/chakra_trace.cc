#include "orrery/workload/import/chakra_trace.h"

#include <array>
#include <bit>
#include <type_traits>
#include <utility>

#include <fmt/core.h>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "orrery/ingest/json_value.h"
#include "orrery/ingest/xplane/message.h"
#include "orrery/workload/import/unpacked_file.h"

namespace orrery::workload {
namespace {

// Field numbers of Chakra's protobuf schema.
namespace chakra_fields {

constexpr std::uint32_t kVersion = 1;  // of the metadata

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
  kInt32 = 7,
  kInt32List = 8,
  kInt64 = 9,
  kInt64List = 10,
  kUint32 = 11,
  kUint32List = 12,
  kUint64 = 13,
  kUint64List = 14,
  kSint32 = 15,
  kSint64 = 17,
  kFixed32 = 19,
  kFixed64 = 21,
  kSfixed32 = 23,
  kSfixed64 = 25,
  kBool = 27,
  kBoolList = 28,
  kString = 29,
  kBytes = 31,
};

}  // namespace chakra_fields

using ingest::JsonElement;
using ingest::xplane::Field;
using ingest::xplane::MessageReader;
using protozero::pbf_writer;
using MaybeElement = std::optional<JsonElement>;

/// Writers spell the keys differently.
MaybeElement AnyField(const JsonElement& object, std::string_view one, std::string_view other) {
  const MaybeElement found = ingest::Field(object, one);
  return found ? found : ingest::Field(object, other);
}

std::vector<std::uint64_t> IdsOf(const MaybeElement& list) {
  std::vector<std::uint64_t> ids;
  ingest::ForEachElement(list, [&](const JsonElement& element) {
    if (const auto id = ingest::Integer(element)) {
      ids.push_back(static_cast<std::uint64_t>(*id));
    }
  });
  return ids;
}

void CopyAttributes(const JsonElement& element, ChakraNode& node) {
  constexpr std::array<std::string_view, 7> kNumbers = {
      "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag", "num_ops", "tensor_size"};
  for (const std::string_view name : kNumbers) {
    if (const auto number = ingest::Integer(ingest::Field(element, name))) {
      node.attributes.emplace(name, *number);
    }
  }
  if (const auto group = ingest::Text(ingest::Field(element, "pg_name"))) {
    node.attributes.emplace("pg_name", std::string(*group));
  }
  bool is_cpu_op = false;
  const MaybeElement flag = ingest::Field(element, "is_cpu_op");
  if (flag && !flag->get(is_cpu_op)) {
    node.attributes.emplace("is_cpu_op", is_cpu_op);
  }
}

Result<ChakraNode> NodeOf(const JsonElement& element, std::size_t index) {
  const auto id = ingest::Integer(AnyField(element, "Id", "id"));
  if (!id || *id < 0) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("node {} has no id", index));
  }
  ChakraNode node{.id = static_cast<std::uint64_t>(*id)};
  node.name = ingest::Text(AnyField(element, "Name", "name")).value_or("");
  const std::int64_t type = ingest::Integer(AnyField(element, "NodeType", "type")).value_or(0);
  node.type = static_cast<ChakraType>(type >= 0 && type <= 7 ? type : 0);
  node.control_inputs = IdsOf(AnyField(element, "ctrlDeps", "ctrl_deps"));
  node.data_inputs = IdsOf(AnyField(element, "data_deps", "dataDeps"));
  node.duration_us = ingest::Integer(AnyField(element, "runtime", "duration_micros")).value_or(0);
  CopyAttributes(element, node);
  return node;
}

void AddList(const std::vector<std::int64_t>& numbers, pbf_writer& attribute) {
  pbf_writer list(attribute, chakra_fields::kInt64List);
  list.add_packed_int64(1, numbers.begin(), numbers.end());
}

void AddValue(const ChakraValue& value, pbf_writer& attribute) {
  std::visit(
      [&]<typename T>(const T& held) {
        if constexpr (std::is_same_v<T, std::int64_t>) {
          attribute.add_int64(chakra_fields::kInt64, held);
        } else if constexpr (std::is_same_v<T, double>) {
          attribute.add_double(chakra_fields::kDouble, held);
        } else if constexpr (std::is_same_v<T, bool>) {
          attribute.add_bool(chakra_fields::kBool, held);
        } else if constexpr (std::is_same_v<T, std::string>) {
          attribute.add_string(chakra_fields::kString, held);
        } else {
          AddList(held, attribute);
        }
      },
      value);
}

std::string NodeBytes(const ChakraNode& node) {
  std::string bytes;
  pbf_writer writer(bytes);
  writer.add_uint64(chakra_fields::kId, node.id);
  writer.add_string(chakra_fields::kName, node.name);
  writer.add_enum(chakra_fields::kType, static_cast<std::int32_t>(node.type));
  writer.add_packed_uint64(chakra_fields::kControlInputs, node.control_inputs.begin(),
                           node.control_inputs.end());
  writer.add_packed_uint64(chakra_fields::kDataInputs, node.data_inputs.begin(),
                           node.data_inputs.end());
  writer.add_uint64(chakra_fields::kBegin, static_cast<std::uint64_t>(node.begin_us));
  writer.add_uint64(chakra_fields::kDuration, static_cast<std::uint64_t>(node.duration_us));
  for (const auto& [name, value] : node.attributes) {
    pbf_writer attribute(writer, chakra_fields::kAttribute);
    attribute.add_string(chakra_fields::kAttributeName, name);
    AddValue(value, attribute);
  }
  return bytes;
}

void AppendMessage(const std::string& message, std::string& bytes) {
  protozero::write_varint(std::back_inserter(bytes), message.size());
  bytes += message;
}

constexpr std::uint64_t kLastType = static_cast<std::uint64_t>(ChakraType::kCollective);

std::int64_t Unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

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
  using namespace chakra_fields;  // NOLINT(google-build-using-namespace): numbers of a schema
  switch (field.number) {
    case kDouble:
      return std::bit_cast<double>(field.value);
    case kFloat:
      return double{std::bit_cast<float>(static_cast<std::uint32_t>(field.value))};
    case kInt32:
    case kInt64:
    case kUint32:
    case kUint64:
    case kFixed64:
    case kSfixed64:
      return field.integer();
    case kFixed32:
      return std::int64_t{static_cast<std::uint32_t>(field.value)};
    case kSfixed32:
      return std::int64_t{static_cast<std::int32_t>(field.value)};
    case kSint32:
    case kSint64:
      return Unzigzag(field.value);
    case kBool:
      return field.value != 0;
    case kString:
    case kBytes:
      return std::string(field.bytes);
    case kInt32List:
    case kInt64List:
    case kUint32List:
    case kUint64List:
    case kBoolList:
      return ListOf(field.bytes);
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

bool IsJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

}  // namespace

Result<ChakraTrace> ParseChakraJson(std::string_view json) {
  ingest::JsonText text;
  const MaybeElement document = text.Parse(json);
  const MaybeElement graph = ingest::Field(document, "workload_graph");
  if (!graph || !graph->is_array()) {
    return Fail(Error::Kind::kInvalidInput,
                "no Chakra execution trace: a JSON object with a list \"workload_graph\"");
  }
  ChakraTrace trace;
  for (const JsonElement element : simdjson::dom::array(*graph)) {
    ORRERY_TRY(ChakraNode node, NodeOf(element, trace.nodes.size()));
    trace.nodes.push_back(std::move(node));
  }
  return trace;
}

std::string ChakraBytes(const ChakraTrace& trace) {
  std::string bytes;
  std::string metadata;
  pbf_writer(metadata).add_string(chakra_fields::kVersion, trace.version);
  AppendMessage(metadata, bytes);
  for (const ChakraNode& node : trace.nodes) {
    AppendMessage(NodeBytes(node), bytes);
  }
  return bytes;
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
    return Fail(Error::Kind::kInvalidInput, "no Chakra execution trace: it has no nodes");
  }
  return trace;
}

Result<ChakraTrace> ReadChakra(const std::string& path) {
  ORRERY_TRY(const std::string bytes, ReadUnpackedFile(path));
  Result<ChakraTrace> trace = IsJson(bytes) ? ParseChakraJson(bytes) : ParseChakra(bytes);
  if (!trace) {
    return FailWithin(path, trace);
  }
  return trace;
}

std::optional<std::int64_t> ChakraNode::Integer(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  const auto* const value =
      found == attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::string_view> ChakraNode::Text(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  const auto* const value =
      found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(*value);
}

bool ChakraNode::IsTrue(std::string_view attribute) const {
  const auto found = attributes.find(attribute);
  const auto* const value = found == attributes.end() ? nullptr : std::get_if<bool>(&found->second);
  return value != nullptr && *value;
}

}  // namespace orrery::workload
