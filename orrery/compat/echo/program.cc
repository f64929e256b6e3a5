#include "orrery/compat/echo/program.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/text.h"
#include "orrery/workload/import/inputs_first.h"

namespace orrery::compat::echo {

using workload::CommunicationId, workload::FirstMissing, workload::InputsFirst, workload::LaneId;
using workload::LaneKind, workload::PartId, workload::Phase, workload::Program, workload::TaskId;
using workload::TaskKind, workload::kNone;

namespace {

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

InputLinks LinksOf(std::span<const GraphNode> graph) {
  std::map<std::string_view, std::size_t> number_of_name;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    number_of_name.emplace(graph[i].name, i);
  }
  InputLinks links{.inputs = std::vector<std::vector<std::size_t>>(graph.size()), .unknown = {}};
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const std::string& input : graph[i].inputs) {
      const auto found = number_of_name.find(input);
      if (found == number_of_name.end()) {
        links.unknown.push_back(input);
        continue;
      }
      links.inputs[i].push_back(found->second);
    }
  }
  return links;
}

class ProgramBuilder {
 public:
  ProgramBuilder(std::span<const GraphNode> graph, const OperatorTimes& times)
      : graph_(graph), times_(times), task_of_node_(graph.size(), kNone) {
    result_.num_nodes = static_cast<std::int64_t>(graph.size());
    is_backward_.resize(graph.size());
    compute_ = program_.lanes.Append({.kind = LaneKind::kStream, .number = 0});
    communication_ = program_.lanes.Append({.kind = LaneKind::kStream, .number = 1});
    program_.roles.push_back(program_.strings.Intern("dp"));
  }

  Result<TracedProgram> Build() {
    InputLinks links = LinksOf(graph_);
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
    CollectUnused();
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
                                          .kind = collective::CollectiveKind::kAllReduce,
                                          .bytes = node.bucket_elements * kBytesOfElement,
                                          .element = collective::Element::kFloat});
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

  void CollectUnused() {
    std::set<std::string_view> names{kOptimizer};
    for (const GraphNode& node : graph_) {
      names.insert(node.name);
    }
    for (const auto& [name, milliseconds] : times_) {
      if (!names.contains(name)) {
        result_.times_without_node.push_back(name);
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

}  // namespace

Result<TracedProgram> MakeProgram(std::span<const GraphNode> graph, const OperatorTimes& times) {
  if (graph.empty()) {
    return Fail(Error::Kind::kInvalidInput, "the graph has no nodes");
  }
  return ProgramBuilder(graph, times).Build();
}

}  // namespace orrery::compat::echo
