#include "orrery/workload/import/chakra_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/import/chakra_trace.h"
#include "orrery/workload/input.h"
#include "orrery/workload/program.h"

namespace orrery::workload {
namespace {

/// The role of communication that names no group.
inline constexpr std::string_view kChakraAllRanks = "all";

/// The group of two ranks that exchange messages of a tag.
struct ChakraMessagePair {
  Rank from = 0;
  Rank to = 0;
  std::int64_t tag = 0;

  auto operator<=>(const ChakraMessagePair&) const = default;
};

/// One rank's program, and what the ensemble has to know of its roles.
struct ChakraRank {
  Program program;
  std::map<std::string, ChakraMessagePair> pair_of_role;
};

constexpr std::int64_t kMaxDurationPs = 86'400'000'000'000'000;  // a day
constexpr std::int64_t kMaxStepPs = std::int64_t{1} << 60;       // 13 days
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 38;  // so that a gather of all ranks fits

bool IsMessage(const ChakraNode& node) {
  return node.type == ChakraType::kSend || node.type == ChakraType::kReceive;
}

bool IsOnHost(const ChakraNode& node) {
  const bool* const is_cpu_op = node.Find<bool>(chakra::kIsCpuOp);
  return (is_cpu_op != nullptr && *is_cpu_op) || node.type == ChakraType::kMetadata ||
         node.type == ChakraType::kInvalid;
}

// Computation, communication and copies have a stream each.
std::int64_t StreamOf(const ChakraNode& node) {
  const bool copies = node.type == ChakraType::kMemoryLoad || node.type == ChakraType::kMemoryStore;
  return IsMessage(node) || node.type == ChakraType::kCollective ? 1 : copies ? 2 : 0;
}

/// Makes the program of one rank. All-gathers count what a rank gives, as in the trace.
class RankBuilder {
 public:
  RankBuilder(const ChakraTrace& trace, Rank rank, trace::ProblemLog& problems)
      : trace_(trace), rank_(rank), problems_(problems) {}

  Result<ChakraRank> Build() {
    ORRERY_TRY_STATUS(NumberNodes());
    ORRERY_TRY(const std::vector<std::size_t> order, Order());
    task_of_node_.assign(nodes_.size(), kNone);
    for (const std::size_t index : order) {
      ORRERY_TRY_STATUS(AddTask(index));
    }
    return std::move(result_);
  }

 private:
  [[nodiscard]] tl::unexpected<Error> FailAt(const ChakraNode& node, std::string_view what) const {
    return Refuse("rank {}: node {} ('{}') {}", rank_, node.id, node.name, what);
  }

  Status NumberNodes() {
    for (const ChakraNode& node : trace_.nodes) {
      nodes_.push_back(&node);
    }
    std::ranges::stable_sort(nodes_, {}, [](const auto* node) { return node->id; });
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!node_of_id_.emplace(nodes_[i]->id, i).second) {
        return FailAt(*nodes_[i], "has a duplicate id");
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<std::size_t> InputsOf(const ChakraNode& node) const {
    std::vector<std::size_t> known;
    for (const auto* inputs : {&node.data_inputs, &node.control_inputs}) {
      for (const std::uint64_t id : *inputs) {
        if (const auto found = node_of_id_.find(id); found != node_of_id_.end()) {
          known.push_back(found->second);
        }
      }
    }
    return known;
  }

  Result<std::vector<std::size_t>> Order() {
    std::vector<std::vector<std::size_t>> inputs(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const ChakraNode& node = *nodes_[i];
      inputs[i] = InputsOf(node);
      const std::size_t unknown =
          node.data_inputs.size() + node.control_inputs.size() - inputs[i].size();
      if (unknown > 0) {
        problems_.Note("inputs missing from the trace", static_cast<std::int64_t>(unknown),
                       fmt::format("rank {}: node {}", rank_, node.id));
      }
    }
    std::vector<std::size_t> order = InputsFirst(inputs);
    if (order.size() < nodes_.size()) {
      return FailAt(*nodes_[FirstMissing(order, nodes_.size())], "is part of a dependency cycle");
    }
    return order;
  }

  LaneId LaneOf(const ChakraNode& node) {
    const bool is_on_host = IsOnHost(node);
    const std::int64_t number =
        node.Integer(chakra::kThread).value_or(is_on_host ? 0 : StreamOf(node));
    const auto [found, is_new] = lanes_.try_emplace({is_on_host, number}, kNone);
    if (is_new) {
      found->second = program().lanes.Append(
          {.kind = is_on_host ? LaneKind::kHostThread : LaneKind::kStream, .number = number});
    }
    return found->second;
  }

  Result<std::int64_t> DurationOf(const ChakraNode& node) const {
    if (node.duration_us < 0 || node.duration_us > kMaxDurationPs / 1'000'000) {
      return FailAt(node, fmt::format("takes {} us, and a day is the most", node.duration_us));
    }
    return node.duration_us * 1'000'000;
  }

  std::uint32_t RoleNamed(const std::string& name) {
    const auto [found, is_new] =
        roles_.try_emplace(name, static_cast<std::uint32_t>(program().roles.size()));
    if (is_new) {
      program().AddRole(name, name.substr(0, name.find(' ')));  // groups have only names
    }
    return found->second;
  }

  Result<std::uint32_t> MessageRole(const ChakraNode& node) {
    const bool sends = node.type == ChakraType::kSend;
    const std::int64_t own = rank_;
    const std::int64_t from = node.Integer(chakra::kCommSource).value_or(sends ? own : -1);
    const std::int64_t to = node.Integer(chakra::kCommTarget).value_or(sends ? -1 : own);
    if (from < 0 || to < 0 || from > kNoGroup || to > kNoGroup || from == to ||
        (sends ? from : to) != rank_) {
      return FailAt(node, "does not state its source and destination ranks");
    }
    const ChakraMessagePair pair{static_cast<Rank>(from), static_cast<Rank>(to),
                                 node.Integer(chakra::kCommTag).value_or(0)};
    const std::string name =
        fmt::format("{} to {} tag {} {}", from, to, pair.tag, sends ? "out" : "in");
    result_.pair_of_role.emplace(name, pair);
    return RoleNamed(name);
  }

  /// The communication of a node; nothing if it does not state one.
  Result<std::optional<Communications::Row>> CommunicationOf(const ChakraNode& node) {
    const auto size = node.Integer(chakra::kCommSize);
    if (size && (*size < 0 || *size > kMaxBytes)) {
      return FailAt(node, fmt::format("moves {} bytes", *size));
    }
    Communications::Row row;
    row.bytes = size.value_or(0);
    row.element = DataType::kFp32;
    if (IsMessage(node)) {
      row.kind = CollectiveKind::kSendRecv;
      ORRERY_TRY(row.role, MessageRole(node));
      return row;
    }
    const auto type = node.Integer(chakra::kCommType);
    const auto* const kind =
        std::find_if(chakra::kCollectiveKinds.begin(), chakra::kCollectiveKinds.end(),
                     [&](const auto& known) { return type && known.first == *type; });
    const bool is_known = kind != chakra::kCollectiveKinds.end() &&
                          (size || kind->second == CollectiveKind::kBarrier);
    if (!is_known) {
      return std::nullopt;
    }
    row.kind = kind->second;
    const auto* const group = node.Find<std::string>(chakra::kGroupName);
    row.role = RoleNamed(group == nullptr ? std::string(kChakraAllRanks) : *group);
    return row;
  }

  Status AddTask(std::size_t index) {
    const ChakraNode& node = *nodes_[index];
    Tasks::Row row;
    row.lane = LaneOf(node);
    row.name = program().strings.Intern(node.name);
    row.kind = IsOnHost(node) ? TaskKind::kHost : TaskKind::kKernel;
    ORRERY_TRY(row.duration_ps, DurationOf(node));
    sum_ps_ += row.duration_ps;
    if (sum_ps_ > kMaxStepPs) {
      return FailAt(node, "ends more than 13 days after the begin of the trace");
    }
    if (!IsOnHost(node) && (IsMessage(node) || node.type == ChakraType::kCollective)) {
      ORRERY_TRY_STATUS(MakeCollective(node, row));
    }
    task_of_node_[index] = program().tasks.Append(row);
    AddEdges(node, task_of_node_[index]);
    return {};
  }

  Status MakeCollective(const ChakraNode& node, Tasks::Row& row) {
    ORRERY_TRY(const std::optional<Communications::Row> communication, CommunicationOf(node));
    if (!communication) {
      problems_.Loss("collectives without a size, which take their recorded time", 1,
                     fmt::format("rank {}: node {}", rank_, node.id));
      return {};
    }
    row.kind = TaskKind::kCollective;
    row.communication = program().communications.Append(*communication);
    return {};
  }

  // Tasks of a lane run in order, so what waits for its own lane needs no edge.
  void AddEdges(const ChakraNode& node, TaskId task) {
    for (const std::size_t input : InputsOf(node)) {
      const TaskId from = task_of_node_[input];
      if (program().tasks.lane[from] != program().tasks.lane[task]) {
        program().edges.Append({.from = from, .to = task});
      }
    }
  }

  Program& program() { return result_.program; }

  const ChakraTrace& trace_;
  Rank rank_;
  trace::ProblemLog& problems_;
  ChakraRank result_;
  std::vector<const ChakraNode*> nodes_;  // in order of id
  std::map<std::uint64_t, std::size_t> node_of_id_;
  std::map<std::pair<bool, std::int64_t>, LaneId> lanes_;
  std::map<std::string, std::uint32_t> roles_;
  std::vector<TaskId> task_of_node_;
  std::int64_t sum_ps_ = 0;
};

/// Puts ranks into the groups that their roles name.
class GroupBuilder {
 public:
  GroupBuilder(std::span<Program> programs,
               std::span<const std::map<std::string, ChakraMessagePair>> pairs,
               const ChakraGroups& known, Ensemble& ensemble)
      : programs_(programs), pairs_(pairs), known_(known), ensemble_(ensemble) {}

  Status Build(std::uint32_t role) {
    const std::string name(programs_[0].RoleName(role));
    for (Rank rank = 0; rank < programs_.size(); ++rank) {
      const auto pair = pairs_[rank].find(name);
      if (pair != pairs_[rank].end()) {
        return JoinPair(rank, role, pair->second);
      }
    }
    const std::vector<Rank> members = MembersOf(name, role);
    if (members.empty()) {
      return {};
    }
    if (members.back() >= programs_.size()) {
      return Refuse("group '{}' has rank {} of {} ranks", name, members.back(), programs_.size());
    }
    ensemble_.AddGroup(members, role);
    return {};
  }

 private:
  Status JoinPair(Rank rank, std::uint32_t role, const ChakraMessagePair& pair) {
    if (pair.from >= programs_.size() || pair.to >= programs_.size()) {
      return Refuse("a message goes from rank {} to rank {} of {} ranks", pair.from, pair.to,
                    programs_.size());
    }
    const auto [found, is_new] = group_of_pair_.try_emplace(pair, kNoGroup);
    if (is_new) {
      found->second = ensemble_.AddGroup(std::vector<Rank>{pair.from, pair.to});
    }
    ensemble_.SetGroup(rank, role, found->second);
    return {};
  }

  std::vector<Rank> MembersOf(const std::string& name, std::uint32_t role) const {
    std::vector<Rank> members;
    const auto known = known_.find(name);
    if (known != known_.end()) {
      members = known->second;
      std::ranges::sort(members);
      return members;
    }
    for (Rank rank = 0; rank < programs_.size(); ++rank) {
      const auto& roles = programs_[rank].communications.role;
      if (name == kChakraAllRanks || std::ranges::find(roles, role) != roles.end()) {
        members.push_back(rank);
      }
    }
    return members;
  }

  std::span<Program> programs_;
  std::span<const std::map<std::string, ChakraMessagePair>> pairs_;
  const ChakraGroups& known_;
  Ensemble& ensemble_;
  std::map<ChakraMessagePair, GroupId> group_of_pair_;
};

/// Chakra counts what each rank sends in an all-gather, Orrery what each receives.
void CountWholeGathers(Program& program, Rank rank, const Ensemble& ensemble) {
  for (CommunicationId i = 0; i < program.communications.size(); ++i) {
    const GroupId group = ensemble.GroupOf(rank, program.communications.role[i]);
    if (program.communications.kind[i] == CollectiveKind::kAllGather && group != kNoGroup) {
      program.communications.bytes[i] *= static_cast<std::int64_t>(ensemble.Members(group).size());
    }
  }
}

void ShareEqual(std::vector<Program> programs, Ensemble& ensemble) {
  for (Rank rank = 0; rank < programs.size(); ++rank) {
    Program& program = programs[rank];
    auto same = std::find(ensemble.programs.begin(), ensemble.programs.end(), program);
    ensemble.program_of_rank[rank] = static_cast<ProgramId>(same - ensemble.programs.begin());
    if (same == ensemble.programs.end()) {
      ensemble.programs.push_back(std::move(program));
    }
  }
}

}  // namespace

Result<ChakraEnsemble> EnsembleOfChakra(std::span<const ChakraTrace> traces,
                                        const ChakraGroups& groups) {
  if (traces.empty() || traces.size() > (1U << 24)) {
    return Refuse("a job has 1 to 16777216 execution traces");
  }
  ChakraEnsemble result;
  std::vector<Program> programs;
  std::vector<std::map<std::string, ChakraMessagePair>> pairs;
  for (Rank rank = 0; rank < traces.size(); ++rank) {
    result.problems.Merge(traces[rank].problems, fmt::format("rank {}", rank));
    ORRERY_TRY(ChakraRank built, RankBuilder(traces[rank], rank, result.problems).Build());
    programs.push_back(std::move(built.program));
    pairs.push_back(std::move(built.pair_of_role));
  }
  UniteGroupRoles(programs);
  Ensemble& ensemble = result.ensemble;
  ensemble.knows_stages = false;
  for (Rank rank = 0; rank < traces.size(); ++rank) {
    ensemble.AddRank(rank, static_cast<network::GpuId>(rank));
  }
  ensemble.SetRoles(static_cast<std::uint32_t>(programs[0].roles.size()));
  GroupBuilder builder(programs, pairs, groups, ensemble);
  for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
    ORRERY_TRY_STATUS(builder.Build(role));
  }
  for (Rank rank = 0; rank < traces.size(); ++rank) {
    CountWholeGathers(programs[rank], rank, ensemble);
  }
  ShareEqual(std::move(programs), ensemble);
  return result;
}

}  // namespace orrery::workload
