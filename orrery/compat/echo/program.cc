#include "orrery/compat/echo/program.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/base/file/folder.h"
#include "orrery/base/text/text.h"
#include "orrery/workload/input.h"
#include "orrery/workload/program.h"

namespace orrery::compat::echo {
namespace {

using workload::CommunicationId, workload::FirstMissing, workload::InputsFirst, workload::LaneId;
using workload::LaneKind, workload::PartId, workload::Phase, workload::Program, workload::TaskId;
using workload::TaskKind, workload::kNone;

constexpr std::string_view kOptimizer = "optimizer_step";
constexpr std::int64_t kBytesOfElement = 4;  // Echo traces in 32-bit floats
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

bool IsOfBucket(const GraphNode& node) {
  return node.op == "ddp_pre" || node.op == "ddp_Allreduce";
}

std::string_view CategoryOf(std::string_view op) {
  constexpr std::pair<std::string_view, std::string_view> kCategories[] = {
      {"Embedding", "embedding"},
      {"Linear", "gemm"},
      {"addmm", "gemm"},
      {"Addmm", "gemm"},
      {"matmul", "gemm"},
      {"MmBackward", "gemm"},
      {"bmm", "gemm"},
      {"Bmm", "gemm"},
      {"Norm", "norm"},
      {"oftmax", "softmax"},
      {"ropout", "dropout"},
      {"AccumulateGrad", "gradient"}};
  for (const auto& [part, category] : kCategories) {
    if (Contains(op, part)) {
      return category;
    }
  }
  return "other";
}

/// Dependencies by node index.
struct InputLinks {
  std::vector<std::vector<std::size_t>> inputs;  // of a node
  std::vector<std::string> unknown;              // inputs that are not nodes
};

class ProgramBuilder {
 public:
  ProgramBuilder(std::span<const GraphNode> graph, const OperatorTimes& times)
      : graph_(graph), times_(times), task_of_node_(graph.size(), kNone) {
    result_.num_nodes = static_cast<std::int64_t>(graph.size());
    is_backward_.resize(graph.size());
    compute_ = program_.lanes.Append({.kind = LaneKind::kStream, .number = 0});
    communication_ = program_.lanes.Append({.kind = LaneKind::kStream, .number = 1});
    program_.AddRole("dp", "dp");
  }

  Result<TracedProgram> Build() {
    std::map<std::string_view, std::size_t> number_of_name;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      number_of_name.emplace(graph_[i].name, i);
    }
    InputLinks links{.inputs = std::vector<std::vector<std::size_t>>(graph_.size()), .unknown = {}};
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      for (const std::string& input : graph_[i].inputs) {
        const auto found = number_of_name.find(input);
        if (found == number_of_name.end()) {
          links.unknown.push_back(input);
          continue;
        }
        links.inputs[i].push_back(found->second);
      }
    }
    const std::vector<std::size_t> order = InputsFirst(links.inputs);
    if (order.size() < graph_.size()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("node '{}' depends on itself",
                              graph_[FirstMissing(order, graph_.size())].name));
    }
    for (const std::size_t node : order) {
      MarkBackward(node, links);
      if (IsOfBucket(graph_[node])) {
        ORRERY_TRY_STATUS(AddBucket(node, links));
      } else {
        task_of_node_[node] =
            AddCompute(graph_[node], is_backward_[node] ? Phase::kBackward : Phase::kForward);
      }
    }
    AddOptimizer();
    std::set<std::string_view> names{kOptimizer};
    for (const GraphNode& node : graph_) {
      names.insert(node.name);
    }
    for (const auto& [name, milliseconds] : times_) {
      if (!names.contains(name)) {
        result_.times_without_node.push_back(name);
      }
    }
    result_.inputs_without_node = std::move(links.unknown);
    result_.program = std::move(program_);
    return std::move(result_);
  }

 private:
  // The backward pass is everything after the output.
  void MarkBackward(std::size_t node, const InputLinks& links) {
    is_backward_[node] = std::ranges::any_of(links.inputs[node], [&](std::size_t i) {
      return is_backward_[i] || graph_[i].op == "output";
    });
  }

  PartId PartOf(std::string_view category, Phase phase) {
    const auto [found, is_new] = parts_.try_emplace({category, phase}, kNone);
    if (is_new) {
      found->second =
          program_.parts.Append({.category = program_.strings.Intern(category), .phase = phase});
    }
    return found->second;
  }

  TaskId AddCompute(const GraphNode& node, Phase phase) {
    const auto time = times_.find(node.name);
    if (time == times_.end()) {
      result_.nodes_without_time.push_back(node.name);
    }
    const double milliseconds = time == times_.end() ? 0 : time->second;
    return program_.tasks.Append({.lane = compute_,
                                  .kind = TaskKind::kKernel,
                                  .duration_ps = std::llround(milliseconds * 1e9),
                                  .name = program_.strings.Intern(node.name),
                                  .part = PartOf(CategoryOf(node.op), phase)});
  }

  Status AddBucket(std::size_t index, const InputLinks& links) {
    const GraphNode& node = graph_[index];
    const bool is_wait = node.op == "ddp_pre";
    CommunicationId communication = kNone;
    if (!is_wait) {
      if (node.bucket_elements < 0 || node.bucket_elements > kMaxElements) {
        return Fail(Error::Kind::kInvalidInput,
                    fmt::format("node '{}' has no valid bucket_size", node.name));
      }
      communication =
          program_.communications.Append({.role = 0,
                                          .kind = CollectiveKind::kAllReduce,
                                          .bytes = node.bucket_elements * kBytesOfElement,
                                          .element = DataType::kFp32});
      ++result_.num_buckets;
    }
    const TaskId task =
        program_.tasks.Append({.lane = communication_,
                               .kind = is_wait ? TaskKind::kWait : TaskKind::kCollective,
                               .name = program_.strings.Intern(node.name),
                               .part = PartOf("dp", Phase::kReduce),
                               .communication = communication});
    task_of_node_[index] = task;
    for (const std::size_t input : links.inputs[index]) {
      if (!IsOfBucket(graph_[input])) {  // those precede it on the same stream
        program_.edges.Append({.from = task_of_node_[input], .to = task});
      }
    }
    return {};
  }

  void AddOptimizer() {
    if (!times_.contains(kOptimizer)) {
      return;
    }
    const GraphNode node{.name = std::string(kOptimizer), .op = "optimizer"};
    const TaskId task = AddCompute(node, Phase::kOptimizer);
    program_.tasks.part[task] = PartOf("optimizer", Phase::kOptimizer);
    for (TaskId before = task; before-- > 0;) {
      if (program_.tasks.lane[before] == communication_) {
        program_.edges.Append({.from = before, .to = task});
        return;
      }
    }
  }

  std::span<const GraphNode> graph_;
  const OperatorTimes& times_;
  TracedProgram result_;
  Program program_;
  LaneId compute_ = kNone;
  LaneId communication_ = kNone;
  std::map<std::pair<std::string_view, Phase>, PartId> parts_;
  std::vector<TaskId> task_of_node_;
  std::vector<bool> is_backward_;
};

constexpr double kMaxMilliseconds = 86'400'000;  // a day

Result<GraphNode> NodeOf(const JsonElement& element, std::size_t index) {
  const std::optional<std::string_view> name = Text(Field(element, "name"));
  if (!name || name->empty()) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("node {} has no name", index));
  }
  GraphNode node{.name = std::string(*name)};
  node.op = Text(Field(element, "op")).value_or("");
  ForEachElement(Field(element, "input_nodes"), [&](const JsonElement& input) {
    if (const auto input_name = Text(input)) {
      node.inputs.emplace_back(*input_name);
    }
  });
  const auto attributes = Field(element, "attrs");
  node.bucket_elements = Integer(Field(attributes, "bucket_size")).value_or(-1);
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

// The only file whose name starts with `prefix`, or nothing.
Result<std::optional<std::string>> FindOne(const std::string& folder,
                                           const std::vector<std::string>& files,
                                           std::string_view prefix) {
  std::optional<std::string> found;
  for (const std::string& file : files) {
    if (!fs::path(file).filename().string().starts_with(prefix)) {
      continue;
    }
    if (found) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("{}: several files {}*: {} and {}; keep the files of one job", folder,
                              prefix, *found, file));
    }
    found = file;
  }
  return found;
}

}  // namespace

Result<TracedProgram> MakeProgram(std::span<const GraphNode> graph, const OperatorTimes& times) {
  if (graph.empty()) {
    return Fail(Error::Kind::kInvalidInput, "the graph has no nodes");
  }
  return ProgramBuilder(graph, times).Build();
}

Result<std::vector<GraphNode>> ParseGraph(std::string_view json) {
  JsonText text;
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
  JsonText text;
  const std::optional<JsonElement> document = text.Parse(json);
  if (!document || !document->is_object()) {
    return Fail(Error::Kind::kInvalidInput, "Echo's times are a JSON object of milliseconds");
  }
  OperatorTimes times;
  double sum = 0;
  for (const auto field : simdjson::dom::object(*document)) {
    const std::optional<double> milliseconds = Number(field.value);
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
  ORRERY_TRY(const std::vector<std::string> files, FilesBelow(folder));
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
