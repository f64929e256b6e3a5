#include "orrery/analyze/straggler/timeline_operations.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/straggler/operation_table.h"
#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/analyze/straggler/timeline_dependencies.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery::analyze {
namespace {

using enum OperationType;

constexpr std::int64_t kMostNegativeTransferNs = -10'000'000;  // as published: below counts as 0

/// Writes the graph of all data-parallel ranks, node after node.
class GraphWriter {
 public:
  GraphWriter(const OperationTable& table, const TimelineDependencies& dependencies)
      : table_(table),
        dependencies_(dependencies),
        num_dp_ranks_(table.dp_ranks.size()),
        end_of_(table.operations.size() * num_dp_ranks_) {}

  OperationGraph Write() {
    AddNode(NodeKind::kSource, DependencyGraph::kNoPlace);
    for (const OperationGroup& group : dependencies_.groups) {
      WriteGroup(group);
    }
    WriteSink();
    made_.graph.first_edge.push_back(made_.graph.num_edges());
    return std::move(made_);
  }

  /// By edge: the operation times the number of data-parallel ranks plus the rank's place, or
  /// kNoLabel.
  [[nodiscard]] const std::vector<std::uint32_t>& operation_of_edge() const {
    return operation_of_edge_;
  }

 private:
  NodeId AddNode(NodeKind kind, std::uint32_t place) {
    DependencyGraph& graph = made_.graph;
    graph.first_edge.push_back(graph.num_edges());
    graph.time_ns.push_back(0);
    graph.node_kind.push_back(kind);
    graph.node_row.push_back(kNoRow);
    graph.node_place.push_back(place);
    return graph.num_nodes() - 1;
  }

  void AddEdge(NodeId from, EdgeKind kind, TimeClass time_class,
               std::uint32_t operation = kNoLabel) {
    DependencyGraph& graph = made_.graph;
    graph.edge_from.push_back(from);
    graph.weight_ns.push_back(0);
    graph.edge_kind.push_back(kind);
    graph.edge_class.push_back(time_class);
    graph.edge_label.push_back(kNoLabel);
    operation_of_edge_.push_back(operation);
    if (operation == kNoLabel) {
      made_.edge_class.push_back(kNoLabel);
      made_.edge_worker.push_back(kNoLabel);
      return;
    }
    const OperationTable::Operation& of = table_.operations[operation / num_dp_ranks_];
    made_.edge_class.push_back(ClassOf(of.type));
    made_.edge_worker.push_back(
        static_cast<std::uint32_t>(table_.WorkerOf(operation % num_dp_ranks_, of.stage)));
  }

  [[nodiscard]] std::uint32_t PlaceOf(std::size_t operation, std::size_t dp) const {
    return static_cast<std::uint32_t>(table_.WorkerOf(dp, table_.operations[operation].stage));
  }

  NodeId WriteStart(std::size_t operation, std::size_t dp) {
    const NodeId node = AddNode(NodeKind::kActivityStart, PlaceOf(operation, dp));
    for (const std::size_t before : dependencies_.before[operation]) {
      AddEdge(end_of_[before * num_dp_ranks_ + dp], EdgeKind::kStreamOrder, TimeClass::kOrder);
    }
    if (dependencies_.before[operation].empty()) {
      AddEdge(0, EdgeKind::kStart, TimeClass::kStart);
    }
    return node;
  }

  void WriteGroup(const OperationGroup& group) {
    std::vector<std::vector<NodeId>> starts(num_dp_ranks_);
    for (std::size_t dp = 0; dp < num_dp_ranks_; ++dp) {
      for (const std::size_t member : group.members) {
        starts[dp].push_back(WriteStart(member, dp));
      }
    }
    const std::vector<NodeId> met = WriteRendezvous(group, starts);
    for (std::size_t dp = 0; dp < num_dp_ranks_; ++dp) {
      for (std::size_t i = 0; i < group.members.size(); ++i) {
        const std::size_t number = group.members[i] * num_dp_ranks_ + dp;
        end_of_[number] = AddNode(NodeKind::kActivityEnd, PlaceOf(group.members[i], dp));
        AddEdge(group.synchronises ? met[dp] : starts[dp][i],
                group.synchronises ? EdgeKind::kRendezvous : EdgeKind::kWork,
                group.synchronises ? TimeClass::kTransfer : TimeClass::kCompute,
                static_cast<std::uint32_t>(number));
      }
    }
  }

  // Returns the node for each data-parallel rank.
  std::vector<NodeId> WriteRendezvous(const OperationGroup& group,
                                      const std::vector<std::vector<NodeId>>& starts) {
    std::vector<NodeId> met(num_dp_ranks_);
    if (!group.synchronises) {
      return met;
    }
    for (std::size_t dp = 0; dp < num_dp_ranks_; ++dp) {
      if (dp == 0 || !group.spans_dp_ranks) {
        met[dp] = AddNode(NodeKind::kRendezvous, DependencyGraph::kNoPlace);
        for (std::size_t other = 0; other < num_dp_ranks_; ++other) {
          if (other == dp || group.spans_dp_ranks) {
            for (const NodeId start : starts[other]) {
              AddEdge(start, EdgeKind::kRendezvous, TimeClass::kOrder);
            }
          }
        }
      } else {
        met[dp] = met[0];
      }
    }
    return met;
  }

  // A step ends with its last optimizer; where none was recorded, with its last operation.
  void WriteSink() {
    AddNode(NodeKind::kSink, DependencyGraph::kNoPlace);
    const bool has_optimizer = std::ranges::any_of(
        table_.operations, [](const auto& operation) { return operation.type == kOptimizer; });
    for (std::size_t i = 0; i < table_.operations.size(); ++i) {
      if (!has_optimizer || table_.operations[i].type == kOptimizer) {
        for (std::size_t dp = 0; dp < num_dp_ranks_; ++dp) {
          AddEdge(end_of_[i * num_dp_ranks_ + dp], EdgeKind::kEnd, TimeClass::kOrder);
        }
      }
    }
  }

  [[nodiscard]] std::uint32_t ClassOf(OperationType type) const {
    const std::vector<std::string>& classes = table_.classes;
    return static_cast<std::uint32_t>(std::ranges::find(classes, OperationClassName(type)) -
                                      classes.begin());
  }

  const OperationTable& table_;
  const TimelineDependencies& dependencies_;
  std::size_t num_dp_ranks_;
  std::vector<NodeId> end_of_;
  OperationGraph made_;
  std::vector<std::uint32_t> operation_of_edge_;
};

/// The durations of operations, without the time that they waited for others of their group.
class Durations {
 public:
  Durations(const OperationTable& table, const TimelineDependencies& dependencies)
      : table_(table), duration_ns_(table.times.size()) {
    for (std::size_t step = 0; step < table.steps.size(); ++step) {
      for (const OperationGroup& group : dependencies.groups) {
        SetGroup(group, step);
      }
    }
    SetIdeal();
  }

  [[nodiscard]] std::int64_t Measured(std::size_t operation, std::size_t step,
                                      std::size_t dp) const {
    return duration_ns_[table_.Place(operation, step, dp)];
  }

  [[nodiscard]] std::int64_t Ideal(std::size_t operation) const {
    return ideal_ns_.at(table_.operations[operation].type);
  }

 private:
  void SetGroup(const OperationGroup& group, std::size_t step) {
    const std::size_t num_dp_ranks = table_.dp_ranks.size();
    std::vector<std::int64_t> latest_ns(num_dp_ranks);
    for (std::size_t dp = 0; dp < num_dp_ranks; ++dp) {
      for (const std::size_t member : group.members) {
        latest_ns[dp] = std::max(latest_ns[dp], table_.At(member, step, dp).start_ns);
      }
    }
    if (group.spans_dp_ranks) {
      latest_ns.assign(num_dp_ranks, *std::ranges::max_element(latest_ns));
    }
    for (std::size_t dp = 0; dp < num_dp_ranks; ++dp) {
      for (const std::size_t member : group.members) {
        const OperationTable::Times& times = table_.At(member, step, dp);
        const std::int64_t transfer_ns = times.start_ns + times.duration_ns - latest_ns[dp];
        duration_ns_[table_.Place(member, step, dp)] = !group.synchronises ? times.duration_ns
                                                       : transfer_ns < kMostNegativeTransferNs
                                                           ? 0
                                                           : transfer_ns;
      }
    }
  }

  void SetIdeal() {
    std::map<OperationType, std::vector<std::int64_t>> of_type;
    const std::size_t per_operation = table_.steps.size() * table_.dp_ranks.size();
    for (std::size_t i = 0; i < duration_ns_.size(); ++i) {
      of_type[table_.operations[i / per_operation].type].push_back(duration_ns_[i]);
    }
    for (auto& [type, durations_ns] : of_type) {
      ideal_ns_[type] = IsCompute(type) ? MeanNs(durations_ns) : MedianNs(durations_ns);
    }
  }

  const OperationTable& table_;
  std::vector<std::int64_t> duration_ns_;
  std::map<OperationType, std::int64_t> ideal_ns_;
};

}  // namespace

Result<OperationSteps> TimelineOperations(const Table& rows) {
  ORRERY_TRY(const OperationTable table, OperationTable::Of(rows));
  ORRERY_TRY(const TimelineDependencies dependencies, FindDependencies(table));
  const Durations durations(table, dependencies);
  GraphWriter writer(table, dependencies);
  OperationSteps made{
      .classes = table.classes, .workers = table.workers, .graphs = {}, .steps = {}};
  made.graphs.push_back(writer.Write());
  DependencyGraph& graph = made.graphs.front().graph;
  const std::size_t num_dp_ranks = table.dp_ranks.size();
  for (std::size_t step = 0; step < table.steps.size(); ++step) {
    OperationStep& row = made.steps.emplace_back();
    row.number = table.steps[step];
    row.measured_ns = table.MeasuredNs(step);
    for (const std::uint32_t number : writer.operation_of_edge()) {
      const bool is_order = number == kNoLabel;
      row.weight_ns.push_back(
          is_order ? 0 : durations.Measured(number / num_dp_ranks, step, number % num_dp_ranks));
      row.ideal_ns.push_back(is_order ? 0 : durations.Ideal(number / num_dp_ranks));
    }
  }
  graph.weight_ns = made.steps.front().weight_ns;
  RemoveDelays(graph);
  return made;
}

}  // namespace orrery::analyze
