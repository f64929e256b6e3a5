#include <bit>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/xplane/message.h"
#include "orrery/workload/import/chakra_fields.h"
#include "orrery/workload/import/chakra_trace.h"
#include "orrery/workload/import/unpacked_file.h"

namespace orrery::workload {
namespace {

using ingest::xplane::Field;
using ingest::xplane::MessageReader;

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
    problems.Note("attributes of a kind that is not read", 1, name);
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
    problems.Loss("nodes that are damaged", 1, fmt::format("node {}", node.id));
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

/// Takes the length of the next message off the front; nothing where it is not sound.
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

Result<ChakraTrace> ParseChakra(std::string_view bytes) {
  ChakraTrace trace;
  std::string_view rest = bytes;
  bool is_first = true;
  while (!rest.empty()) {
    const std::size_t at = bytes.size() - rest.size();
    const std::optional<std::uint64_t> length = TakeLength(rest);
    if (!length || *length > rest.size()) {
      trace.problems.Loss("the file is cut", 1, fmt::format("byte {}", at));
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
