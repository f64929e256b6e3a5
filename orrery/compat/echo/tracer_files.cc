#include "orrery/compat/echo/tracer_files.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "orrery/ingest/json_value.h"
#include "orrery/workload/import/unpacked_file.h"

namespace orrery::compat::echo {

namespace {

using ingest::JsonElement;

constexpr double kMaxMilliseconds = 86'400'000;  // a day

Result<GraphNode> NodeOf(const JsonElement& element, std::size_t index) {
  const std::optional<std::string_view> name = ingest::Text(ingest::Field(element, "name"));
  if (!name || name->empty()) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("node {} has no name", index));
  }
  GraphNode node{.name = std::string(*name)};
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
  ORRERY_TRY(const std::string text, workload::ReadUnpackedFile(path));
  Result<T> parsed = parse(text);
  if (!parsed) {
    return FailWithin(path, parsed);
  }
  return parsed;
}

namespace fs = std::filesystem;

std::vector<fs::path> FilesBelow(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (file->is_regular_file(error)) {
      files.push_back(file->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The only file whose name starts with `prefix`, or nothing.
Result<std::optional<std::string>> FindOne(const std::string& folder,
                                           const std::vector<fs::path>& files,
                                           std::string_view prefix) {
  std::optional<std::string> found;
  for (const fs::path& file : files) {
    if (!file.filename().string().starts_with(prefix)) {
      continue;
    }
    if (found) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{}: several files {}*: {} and {}; keep the files of one job", folder,
                              prefix, *found, file.string()));
    }
    found = file.string();
  }
  return found;
}

}  // namespace

Result<std::vector<GraphNode>> ParseGraph(std::string_view json) {
  ingest::JsonText text;
  const std::optional<JsonElement> document = text.Parse(json);
  if (!document || !document->is_array()) {
    return Fail(Error::Kind::kInvalidInput, "an Echo graph is a JSON list of nodes");
  }
  std::vector<GraphNode> nodes;
  for (const JsonElement element : simdjson::dom::array(*document)) {
    ORRERY_TRY(GraphNode node, NodeOf(element, nodes.size()));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Result<OperatorTimes> ParseTimes(std::string_view json) {
  ingest::JsonText text;
  const std::optional<JsonElement> document = text.Parse(json);
  if (!document || !document->is_object()) {
    return Fail(Error::Kind::kInvalidInput, "Echo's times are a JSON object of milliseconds");
  }
  OperatorTimes times;
  double sum = 0;
  for (const auto field : simdjson::dom::object(*document)) {
    const std::optional<double> milliseconds = ingest::Number(field.value);
    sum += milliseconds.value_or(0);
    if (!milliseconds || *milliseconds < 0 || sum > kMaxMilliseconds) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("the time of '{}' is not a number of milliseconds, or their sum "
                              "exceeds a day",
                              field.key));
    }
    times.emplace(field.key, *milliseconds);
  }
  return times;
}

Result<std::vector<GraphNode>> ReadGraphs(std::span<const std::string> paths) {
  std::vector<GraphNode> all;
  std::set<std::string, std::less<>> names;
  for (const std::string& path : paths) {
    ORRERY_TRY(std::vector<GraphNode> nodes, ParseFile<std::vector<GraphNode>>(path, ParseGraph));
    for (GraphNode& node : nodes) {
      if (names.insert(node.name).second) {
        all.push_back(std::move(node));
      }
    }
  }
  return all;
}

Result<OperatorTimes> ReadTimes(std::span<const std::string> paths) {
  OperatorTimes all;
  for (const std::string& path : paths) {
    ORRERY_TRY(OperatorTimes times, ParseFile<OperatorTimes>(path, ParseTimes));
    all.merge(times);
  }
  return all;
}

Result<TracerFiles> FindTracerFiles(const std::string& folder) {
  const std::vector<fs::path> files = FilesBelow(folder);
  const auto add = [&](std::string_view prefix, std::vector<std::string>& paths) -> Status {
    ORRERY_TRY(const std::optional<std::string> path, FindOne(folder, files, prefix));
    if (path) {
      paths.push_back(*path);
    }
    return {};
  };
  TracerFiles found;
  for (const std::string_view prefix : {"forward_graph", "backward_graph", "ddp_graph"}) {
    ORRERY_TRY_STATUS(add(prefix, found.graphs));
  }
  ORRERY_TRY_STATUS(add("global_ops", found.times));
  const bool has_all_times = !found.times.empty();
  if (!has_all_times) {
    ORRERY_TRY_STATUS(add("forward_ops", found.times));
    ORRERY_TRY_STATUS(add("backward_ops", found.times));
  }
  if (found.graphs.size() < 2 || (!has_all_times && found.times.size() < 2)) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: has neither the trace.json of a traced job nor the graphs and "
                            "times of Echo's tracer (docs/formats/echo.md)",
                            folder));
  }
  return found;
}

}  // namespace orrery::compat::echo
