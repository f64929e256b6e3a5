#include "orrery/workload/recorded/recorded_ensemble.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/trace/collective_groups.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/recorded_communications.h"

namespace orrery::workload {
namespace {

// The members of groups according to the files, by the key of the group.
using MembersOfKey = std::map<std::string, std::vector<Rank>, std::less<>>;

void CollectMembers(const trace::Trace& graph, std::size_t num_ranks, MembersOfKey& members) {
  for (RowId group = 0; group < graph.process_groups.size(); ++group) {
    const auto found = trace::IdentifyGroup(graph, group, false);
    const bool is_whole =
        found && !found->members.empty() &&
        std::all_of(found->members.begin(), found->members.end(), [&](std::int32_t rank) {
          return rank >= 0 && static_cast<std::size_t>(rank) < num_ranks;
        });
    if (is_whole) {
      members.try_emplace(found->key, found->members.begin(), found->members.end());
    }
  }
}

// Lets the main thread begin later: its first task takes that much longer.
void DelayBegin(std::int64_t begin_ps, Program& program) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] == LaneKind::kHostThread) {
      program.tasks.duration_ps[task] += begin_ps;
      return;
    }
  }
}

bool Speaks(const Program& program, std::uint32_t role) {
  const auto& roles = program.communications.role;
  return std::find(roles.begin(), roles.end(), role) != roles.end();
}

void JoinGroups(const MembersOfKey& members_of_key, Ensemble& ensemble) {
  const Program& first = ensemble.programs.front();
  ensemble.SetRoles(static_cast<std::uint32_t>(first.roles.size()));
  for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
    const auto named = members_of_key.find(first.strings.View(first.roles[role]));
    std::vector<Rank> members;
    if (named != members_of_key.end()) {
      members = named->second;
    } else {
      for (Rank rank = 0; rank < ensemble.programs.size(); ++rank) {
        if (Speaks(ensemble.programs[rank], role)) {
          members.push_back(rank);
        }
      }
    }
    if (members.size() >= 2) {
      ensemble.AddGroup(members, role);
    }
  }
}

}  // namespace

Result<RecordedEnsemble> EnsembleOfGraphs(std::span<const RankGraph> ranks, const HostModel& host) {
  if (ranks.empty()) {
    return Fail(Error::Kind::kInvalidInput, "a job has at least one execution trace");
  }
  RecordedEnsemble result;
  MembersOfKey members;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    const trace::Trace& graph = *ranks[rank].graph;
    if (graph.graph_nodes.empty()) {
      return Fail(Error::Kind::kInvalidInput, fmt::format("rank {} has no execution trace", rank));
    }
    const auto communications = CommunicationsOf(graph, result.problems);
    const PriceNode price = WithCommunications(communications, ranks[rank].price);
    RecordedProgram recorded = ProgramOfGraph(graph, GraphStep(graph), host, price);
    DelayBegin(ranks[rank].begin_ps, recorded.program);
    CollectMembers(graph, ranks.size(), members);
    result.coverage_of_rank.push_back(recorded.coverage);
    result.ensemble.programs.push_back(std::move(recorded.program));
    result.ensemble.AddRank(rank, rank);
  }
  UniteGroupRoles(result.ensemble.programs);
  JoinGroups(members, result.ensemble);
  return result;
}

}  // namespace orrery::workload
