#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/json_value.h"
#include "orrery/compat/echo/echo_graph.h"
#include "orrery/workload/import/unpacked_file.h"

namespace orrery::compat::echo {

using workload::ReadUnpackedFile;

namespace {

using ingest::JsonElement;

constexpr double kMaxMilliseconds = 86'400'000;  // a day

Result<EchoNode> NodeOf(const JsonElement& element, std::size_t index) {
  const std::optional<std::string_view> name = ingest::Text(ingest::Field(element, "name"));
  if (!name || name->empty()) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("node {} has no name", index));
  }
  EchoNode node{.name = std::string(*name)};
  node.op = ingest::Text(ingest::Field(element, "op")).value_or("");
  ingest::ForEachElement(ingest::Field(element, "input_nodes"), [&](const JsonElement& input) {
    if (const auto input_name = ingest::Text(input)) {
      node.inputs.emplace_back(*input_name);
    }
  });
  const auto attributes = ingest::Field(element, "attrs");
  node.bucket_elements = ingest::Integer(ingest::Field(attributes, "bucket_size")).value_or(-1);
  return node;
}

template <typename T, typename Parse>
Result<T> ParseFile(const std::string& path, const Parse& parse) {
  ORRERY_TRY(const std::string text, ReadUnpackedFile(path));
  Result<T> parsed = parse(text);
  if (!parsed) {
    return FailWithin(path, parsed);
  }
  return parsed;
}

}  // namespace

Result<std::vector<EchoNode>> ParseEchoGraph(std::string_view json) {
  ingest::JsonText text;
  const std::optional<JsonElement> document = text.Parse(json);
  if (!document || !document->is_array()) {
    return Fail(Error::Kind::kInvalidInput, "a graph of Echo is a JSON list of nodes");
  }
  std::vector<EchoNode> nodes;
  for (const JsonElement element : simdjson::dom::array(*document)) {
    ORRERY_TRY(EchoNode node, NodeOf(element, nodes.size()));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<EchoTimes> ParseEchoTimes(std::string_view json) {
  ingest::JsonText text;
  const std::optional<JsonElement> document = text.Parse(json);
  if (!document || !document->is_object()) {
    return Fail(Error::Kind::kInvalidInput, "times of Echo are a JSON object of milliseconds");
  }
  EchoTimes times;
  double sum = 0;
  for (const auto field : simdjson::dom::object(*document)) {
    const std::optional<double> milliseconds = ingest::Number(field.value);
    sum += milliseconds.value_or(0);
    if (!milliseconds || *milliseconds < 0 || sum > kMaxMilliseconds) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("the time of '{}' is not a number of milliseconds, or all of them "
                              "make more than a day",
                              field.key));
    }
    times.emplace(field.key, *milliseconds);
  }
  return times;
}

Result<std::vector<EchoNode>> ReadEchoGraph(std::span<const std::string> paths) {
  std::vector<EchoNode> all;
  std::set<std::string, std::less<>> names;
  for (const std::string& path : paths) {
    ORRERY_TRY(std::vector<EchoNode> nodes, ParseFile<std::vector<EchoNode>>(path, ParseEchoGraph));
    for (EchoNode& node : nodes) {
      if (names.insert(node.name).second) {
        all.push_back(std::move(node));
      }
    }
  }
  return all;
}

Result<EchoTimes> ReadEchoTimes(std::span<const std::string> paths) {
  EchoTimes all;
  for (const std::string& path : paths) {
    ORRERY_TRY(EchoTimes times, ParseFile<EchoTimes>(path, ParseEchoTimes));
    all.merge(times);
  }
  return all;
}

}  // namespace orrery::compat::echo
