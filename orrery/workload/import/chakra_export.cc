#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "orrery/workload/import/chakra_attributes.h"
#include "orrery/workload/import/chakra_program.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;

constexpr std::string_view kVersion = "0.0.4";  // of the schema
constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;

std::int64_t TypeNumber(CollectiveKind kind) {
  const auto* const found =
      std::find_if(chakra::kCollectiveKinds.begin(), chakra::kCollectiveKinds.end(),
                   [&](const auto& known) { return known.second == kind; });
  return found->first;
}

/// Groups have numbers, roles only names; readers must distinguish two groups of one name.
std::string GroupName(const Program& program, std::uint32_t role, GroupId group) {
  return fmt::format("{} #{}", program.strings.View(program.roles[role]), group);
}

class TraceBuilder {
 public:
  TraceBuilder(const Ensemble& ensemble, Rank rank)
      : ensemble_(ensemble),
        program_(ensemble.programs[ensemble.program_of_rank[rank]]),
        rank_(rank) {}

  ChakraTrace Build() {
    ChakraTrace trace;
    trace.version = kVersion;
    std::vector<TaskId> last_of_lane(program_.lanes.size(), kNone);
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      TaskId& last = last_of_lane[program_.tasks.lane[task]];
      trace.nodes.push_back(NodeOf(task, last));
      last = task;
    }
    AddEdges(trace.nodes);
    return trace;
  }

 private:
  ChakraNode NodeOf(TaskId task, TaskId last) {
    const Tasks::Row row = program_.tasks.At(task);
    ChakraNode node{.id = task, .name = std::string(program_.strings.View(row.name))};
    node.type = ChakraType::kCompute;
    node.duration_us =
        (row.duration_ps + kPicosecondsPerMicrosecond / 2) / kPicosecondsPerMicrosecond;
    if (last != kNone) {
      node.control_inputs.push_back(last);
    } else if (program_.lanes.gap_ps[row.lane] > 0) {
      Set(node, chakra::kLaneGapPs, program_.lanes.gap_ps[row.lane]);
    }
    Set(node, chakra::kIsCpuOp, program_.lanes.kind[row.lane] == LaneKind::kHostThread);
    Set(node, chakra::kThread, program_.lanes.number[row.lane]);
    Set(node, chakra::kDurationPs, row.duration_ps);
    Set(node, chakra::kKind, static_cast<std::int64_t>(row.kind));
    if (row.microbatch >= 0) {
      Set(node, chakra::kMicrobatch, std::int64_t{row.microbatch});
    }
    DescribePart(row, node);
    DescribeCommunication(row, node);
    return node;
  }

  static void Set(ChakraNode& node, std::string_view name, ChakraValue value) {
    node.attributes.insert_or_assign(std::string(name), std::move(value));
  }

  void DescribePart(const Tasks::Row& row, ChakraNode& node) {
    if (row.part == kNone) {
      return;
    }
    const Parts::Row part = program_.parts.At(row.part);
    Set(node, chakra::kCategory, std::string(program_.strings.View(part.category)));
    Set(node, chakra::kPart,
        std::vector<std::int64_t>{static_cast<std::int64_t>(part.phase), part.chunk, part.sm_share,
                                  part.memory_share, part.compute_share, part.operation});
  }

  void DescribeCommunication(const Tasks::Row& row, ChakraNode& node) {
    if (row.kind != TaskKind::kCollective || row.communication == kNone) {
      return;
    }
    const Communications::Row moved = program_.communications.At(row.communication);
    const GroupId group = ensemble_.GroupOf(rank_, moved.role);
    if (group == kNoGroup) {  // nobody to talk to
      return;
    }
    const std::span<const Rank> members = ensemble_.Members(group);
    const bool is_gather = moved.kind == CollectiveKind::kAllGather;
    Set(node, chakra::kCommSize,
        moved.bytes / (is_gather ? static_cast<std::int64_t>(members.size()) : 1));
    Set(node, chakra::kElement, static_cast<std::int64_t>(moved.element));
    if (moved.kind == CollectiveKind::kSendRecv) {
      DescribeMessage(moved, group, node);
      return;
    }
    node.type = ChakraType::kCollective;
    Set(node, chakra::kCommType, TypeNumber(moved.kind));
    Set(node, chakra::kGroupName, GroupName(program_, moved.role, group));
  }

  // GroupRoles of messages are called "… out" and "… in"; else the first of a pair sends.
  void DescribeMessage(const Communications::Row& moved, GroupId group, ChakraNode& node) {
    const std::span<const Rank> members = ensemble_.Members(group);
    const std::string_view name = program_.strings.View(program_.roles[moved.role]);
    const bool is_named = name.ends_with(" out") || name.ends_with(" in");
    const bool sends = is_named ? name.ends_with(" out") : members.front() == rank_;
    const Rank other = members.front() == rank_ ? members.back() : members.front();
    node.type = sends ? ChakraType::kSend : ChakraType::kReceive;
    Set(node, chakra::kCommSource, std::int64_t{sends ? rank_ : other});
    Set(node, chakra::kCommTarget, std::int64_t{sends ? other : rank_});
    Set(node, chakra::kCommTag, std::int64_t{group});
  }

  void AddEdges(std::vector<ChakraNode>& nodes) {
    std::vector<std::vector<std::int64_t>> lags(nodes.size());
    for (std::size_t edge = 0; edge < program_.edges.size(); ++edge) {
      const TaskId to = program_.edges.to[edge];
      nodes[to].data_inputs.push_back(program_.edges.from[edge]);
      lags[to].push_back(program_.edges.lag_ps[edge]);
    }
    for (TaskId task = 0; task < nodes.size(); ++task) {
      if (std::any_of(lags[task].begin(), lags[task].end(), [](auto lag) { return lag > 0; })) {
        Set(nodes[task], chakra::kLagsPs, lags[task]);
      }
      const TaskId launch = program_.tasks.launch[task];
      if (launch != kNone) {
        nodes[task].data_inputs.push_back(launch);
        Set(nodes[task], chakra::kLaunch, std::int64_t{launch});
        Set(nodes[task], chakra::kLaunchLatencyPs, program_.launch_latency_ps);
      }
    }
  }

  const Ensemble& ensemble_;
  const Program& program_;
  Rank rank_;
};

}  // namespace

ChakraTrace ChakraOf(const Ensemble& ensemble, Rank rank) {
  return TraceBuilder(ensemble, rank).Build();
}

ChakraGroups ChakraGroupsOf(const Ensemble& ensemble) {
  ChakraGroups groups;
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    const Program& program = ensemble.programs[ensemble.program_of_rank[rank]];
    for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
      const GroupId group = ensemble.GroupOf(rank, role);
      if (group != kNoGroup) {
        const std::span<const Rank> members = ensemble.Members(group);
        groups.try_emplace(GroupName(program, role, group), members.begin(), members.end());
      }
    }
  }
  return groups;
}

}  // namespace orrery::workload
