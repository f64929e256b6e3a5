#include <type_traits>

#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "orrery/workload/import/chakra_fields.h"
#include "orrery/workload/import/chakra_trace.h"

namespace orrery::workload {
namespace {

using protozero::pbf_writer;

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

}  // namespace

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

}  // namespace orrery::workload
