#include "orrery/analyze/straggler/recorded_operations.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/device_graph.h"
#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

/// Of all graphs together: bounds memory and time. The first step is always there.
constexpr std::size_t kMaxEdges = 4'000'000;

const trace::Trace& TraceAt(const RunView& run, const DependencyGraph& graph, NodeId node) {
  return run.set->ranks[graph.rank_index[graph.node_place[node]]];
}

/// Names of classes by number, in the order in which they were met.
class ClassNumbers {
 public:
  std::uint32_t Of(std::string_view name) {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end()) {
      names_.emplace_back(name);
      return static_cast<std::uint32_t>(names_.size() - 1);
    }
    return static_cast<std::uint32_t>(found - names_.begin());
  }

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

// The key of communication that is alike: kind, bytes, members.
using TransferKey = std::tuple<CollectiveKind, std::int64_t, std::uint32_t>;

TransferKey KeyOf(const RunView& run, std::uint32_t instance) {
  const trace::MatchedInstances& instances = run.matched.instances;
  return {instances.kind[instance], instances.bytes[instance], instances.num_members[instance]};
}

/// One edge that is an operation.
struct OperationEdge {
  EdgeId edge = 0;
  NodeId node = 0;  // it leads to
};

/// The edges of kernels on one rank in one step, by stream.
using Streams = std::map<std::pair<std::int32_t, std::int64_t>, std::vector<OperationEdge>>;

/// Collects the operations of all steps, then their ideal durations.
class OperationCollector {
 public:
  explicit OperationCollector(const RunView& run) : run_(run) {}

  void AddStep(const DependencyGraph& whole) {
    DeviceGraph devices = DevicesOf(run_, whole);
    made_.num_inferred_waits += devices.num_inferred;
    OperationStep& step = operations().steps.emplace_back();
    step.graph = operations().graphs.size();
    step.number = whole.step_number;
    step.measured_ns = devices.measured_ns;
    OperationGraph& added = operations().graphs.emplace_back();
    added.graph = std::move(devices.graph);
    step.weight_ns = added.graph.weight_ns;
    step.ideal_ns = added.graph.weight_ns;
    added.edge_class.assign(added.graph.num_edges(), kNoLabel);
    added.edge_worker.assign(added.graph.num_edges(), kNoLabel);
    kernels_.emplace_back(added.graph.rank_index.size());
    for (NodeId node = 0; node < added.graph.num_nodes(); ++node) {
      for (const EdgeId edge : added.graph.EdgesTo(node)) {
        AddEdge(added, {.edge = edge, .node = node});
      }
    }
    RemoveDelays(added.graph);
  }

  [[nodiscard]] std::size_t num_edges() const {
    std::size_t count = 0;
    for (const OperationGraph& graph : made_.operations.graphs) {
      count += graph.graph.num_edges();
    }
    return count;
  }

  [[nodiscard]] bool has_transfers() const { return !transfers_ns_.empty(); }

  RecordedOperations Finish(std::size_t num_steps) {
    made_.num_steps = num_steps;
    made_.is_by_position = AreAlike();
    if (made_.is_by_position) {
      SetKernelsByPosition();
    } else {
      SetKernelsByClass();
    }
    SetTransfers();
    operations().classes = classes_.names();
    for (const std::uint32_t rank_index : operations().graphs.front().graph.rank_index) {
      operations().workers.push_back({.rank = trace::RankOf(*run_.set, rank_index)});
    }
    return std::move(made_);
  }

 private:
  OperationSteps& operations() { return made_.operations; }

  void AddEdge(OperationGraph& added, OperationEdge operation) {
    const DependencyGraph& graph = added.graph;
    const std::uint32_t place = graph.node_place[operation.node];
    std::string_view name;
    if (graph.edge_class[operation.edge] == TimeClass::kTransfer) {
      const std::uint32_t instance = graph.edge_label[operation.edge];
      name = CollectiveKindName(run_.matched.instances.kind[instance]);
      transfers_ns_[KeyOf(run_, instance)].push_back(graph.weight_ns[operation.edge]);
    } else if (graph.edge_kind[operation.edge] == EdgeKind::kWork) {
      const trace::KernelClass in_class = KernelClassAt(graph, operation.node);
      if (in_class == trace::KernelClass::kCommunication) {
        ++made_.num_unmatched;
        return;
      }
      name = trace::KernelClassName(in_class);
      const trace::Trace& trace = TraceAt(run_, graph, operation.node);
      const RowId track = trace.activities.track[graph.node_row[operation.node]];
      kernels_.back()[place][{trace.tracks.device[track], trace.tracks.thread[track]}].push_back(
          operation);
    } else {
      return;
    }
    added.edge_class[operation.edge] = classes_.Of(name);
    added.edge_worker[operation.edge] = place;
  }

  [[nodiscard]] trace::KernelClass KernelClassAt(const DependencyGraph& graph, NodeId node) const {
    return run_.classes[graph.rank_index[graph.node_place[node]]][graph.node_row[node]];
  }

  // Returns true if all ranks run kernels of the same classes in the same order in all steps.
  [[nodiscard]] bool AreAlike() const {
    for (std::size_t step = 0; step < kernels_.size(); ++step) {
      for (std::size_t place = 0; place < kernels_[step].size(); ++place) {
        if (!std::ranges::equal(
                kernels_[step][place], kernels_[0][0], [&](const auto& ours, const auto& first) {
                  return std::ranges::equal(ours.second, first.second,
                                            [&](OperationEdge our_edge, OperationEdge first_edge) {
                                              return ClassOf(step, our_edge) ==
                                                     ClassOf(0, first_edge);
                                            });
                })) {
          return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] std::uint32_t ClassOf(std::size_t step, OperationEdge operation) const {
    return made_.operations.graphs[step].edge_class[operation.edge];
  }

  // Calls `visit(step, place, streams)` for each rank in each step.
  template <typename Visit>
  void ForEachRank(Visit&& visit) const {
    for (std::size_t step = 0; step < kernels_.size(); ++step) {
      for (std::size_t place = 0; place < kernels_[step].size(); ++place) {
        visit(step, place);
      }
    }
  }

  void SetKernelsByPosition() {
    std::vector<std::int64_t> sums_ns;
    std::int64_t count = 0;
    const auto visit_all = [&](auto&& visit) {
      ForEachRank([&](std::size_t step, std::size_t place) {
        std::size_t position = 0;
        for (const auto& [stream, kernels] : kernels_[step][place]) {
          for (const OperationEdge operation : kernels) {
            visit(operations().steps[step], operation.edge, position++);
          }
        }
      });
    };
    visit_all([&](const OperationStep& step, EdgeId edge, std::size_t position) {
      sums_ns.resize(std::max(sums_ns.size(), position + 1));
      sums_ns[position] += step.weight_ns[edge];
    });
    ForEachRank([&](std::size_t, std::size_t) { ++count; });
    visit_all([&](OperationStep& step, EdgeId edge, std::size_t position) {
      step.ideal_ns[edge] =
          std::llround(static_cast<double>(sums_ns[position]) / static_cast<double>(count));
    });
  }

  void SetKernelsByClass() {
    std::map<std::uint32_t, std::vector<std::vector<std::pair<std::size_t, EdgeId>>>> of_class;
    ForEachRank([&](std::size_t step, std::size_t place) {
      std::map<std::uint32_t, std::vector<std::pair<std::size_t, EdgeId>>> here;
      for (const auto& [stream, kernels] : kernels_[step][place]) {
        for (const OperationEdge operation : kernels) {
          here[ClassOf(step, operation)].emplace_back(step, operation.edge);
        }
      }
      for (auto& [in_class, edges] : here) {
        of_class[in_class].push_back(std::move(edges));
      }
    });
    for (const auto& [in_class, ranks] : of_class) {
      ScaleToMean(ranks);
    }
  }

  // `ranks`: edges by step, of each rank in each step that has any.
  void ScaleToMean(const std::vector<std::vector<std::pair<std::size_t, EdgeId>>>& ranks) {
    std::vector<std::int64_t> sums_ns;
    for (const auto& edges : ranks) {
      sums_ns.push_back(0);
      for (const auto& [step, edge] : edges) {
        sums_ns.back() += operations().steps[step].weight_ns[edge];
      }
    }
    const std::int64_t mean_ns = sums_ns.empty() ? 0 : MeanNs(sums_ns);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const double factor =
          sums_ns[i] == 0 ? 1 : static_cast<double>(mean_ns) / static_cast<double>(sums_ns[i]);
      for (const auto& [step, edge] : ranks[i]) {
        OperationStep& of = operations().steps[step];
        of.ideal_ns[edge] = std::llround(static_cast<double>(of.weight_ns[edge]) * factor);
      }
    }
  }

  void SetTransfers() {
    std::map<TransferKey, std::int64_t> medians_ns;
    for (const auto& [key, durations_ns] : transfers_ns_) {
      medians_ns[key] = MedianNs(durations_ns);
    }
    for (OperationStep& step : operations().steps) {
      const DependencyGraph& graph = operations().graphs[step.graph].graph;
      for (EdgeId edge = 0; edge < graph.num_edges(); ++edge) {
        if (graph.edge_class[edge] == TimeClass::kTransfer) {
          step.ideal_ns[edge] = medians_ns[KeyOf(run_, graph.edge_label[edge])];
        }
      }
    }
  }

  const RunView& run_;
  RecordedOperations made_;
  ClassNumbers classes_;
  std::vector<std::vector<Streams>> kernels_;  // [step][place]
  std::map<TransferKey, std::vector<std::int64_t>> transfers_ns_;
};

}  // namespace

Result<RecordedOperations> OperationsOf(const RunView& run) {
  if (run.set->ranks.size() < 2) {
    return Fail(Error::Kind::kNotFound, "one rank: stragglers need another to compare with");
  }
  const DependencyGraph& first = GraphOf(run);
  if (first.empty()) {
    return Fail(Error::Kind::kNotFound, "no step that all ranks have");
  }
  const std::set<std::int64_t> steps =
      CommonSteps(run).value_or(std::set<std::int64_t>{first.step_number});
  OperationCollector collector(run);
  for (const std::int64_t number : steps) {
    if (number == first.step_number) {
      collector.AddStep(first);
    } else if (collector.num_edges() + first.num_edges() <= kMaxEdges) {
      collector.AddStep(BuildGraph(run, number));
    }
  }
  if (!collector.has_transfers()) {
    return Fail(Error::Kind::kNotFound, kNoMatchReason);
  }
  return collector.Finish(steps.size());
}

}  // namespace orrery::analyze
