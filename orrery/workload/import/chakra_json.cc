#include <array>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/json_value.h"
#include "orrery/workload/import/chakra_trace.h"

namespace orrery::workload {
namespace {

using ingest::JsonElement;
using MaybeElement = std::optional<JsonElement>;

/// Writers of the form do not agree on how they spell its keys.
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

}  // namespace orrery::workload
