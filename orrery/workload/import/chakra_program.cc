#include "orrery/workload/import/chakra_program.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "orrery/workload/import/chakra_rank.h"
#include "orrery/workload/recorded/group_role_union.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;

/// Puts ranks into the groups that their roles name.
class GroupBuilder {
 public:
  GroupBuilder(std::span<Program> programs,
               std::span<const std::map<std::string, ChakraMessagePair>> pairs,
               const ChakraGroups& known, Ensemble& ensemble)
      : programs_(programs), pairs_(pairs), known_(known), ensemble_(ensemble) {}

  Status Build() {
    const auto num_roles = static_cast<std::uint32_t>(programs_[0].roles.size());
    ensemble_.num_roles = num_roles;
    ensemble_.group_of_role.assign(programs_.size() * num_roles, kNoGroup);
    for (std::uint32_t role = 0; role < num_roles; ++role) {
      ORRERY_TRY_STATUS(BuildRole(role));
    }
    return {};
  }

 private:
  Status BuildRole(std::uint32_t role) {
    const std::string name(programs_[0].strings.View(programs_[0].roles[role]));
    for (Rank rank = 0; rank < programs_.size(); ++rank) {
      const auto pair = pairs_[rank].find(name);
      if (pair != pairs_[rank].end()) {
        ORRERY_TRY_STATUS(JoinPair(rank, role, pair->second));
        return {};
      }
    }
    const std::vector<Rank> members = MembersOf(name, role);
    if (members.empty()) {
      return {};
    }
    if (members.back() >= programs_.size()) {
      return Fail(Error::Kind::kInvalidInput, fmt::format("group '{}' has rank {} of {} ranks",
                                                          name, members.back(), programs_.size()));
    }
    const GroupId group = ensemble_.AddGroup(members);
    for (const Rank rank : members) {
      ensemble_.group_of_role[static_cast<std::size_t>(rank) * ensemble_.num_roles + role] = group;
    }
    return {};
  }

  Status JoinPair(Rank rank, std::uint32_t role, const ChakraMessagePair& pair) {
    if (pair.from >= programs_.size() || pair.to >= programs_.size()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("a message goes from rank {} to rank {} of {} ranks", pair.from,
                              pair.to, programs_.size()));
    }
    const auto [found, is_new] = group_of_pair_.try_emplace(pair, kNoGroup);
    if (is_new) {
      found->second = ensemble_.AddGroup(std::vector<Rank>{pair.from, pair.to});
    }
    ensemble_.group_of_role[static_cast<std::size_t>(rank) * ensemble_.num_roles + role] =
        found->second;
    return {};
  }

  std::vector<Rank> MembersOf(const std::string& name, std::uint32_t role) const {
    std::vector<Rank> members;
    const auto known = known_.find(name);
    if (known != known_.end()) {
      members = known->second;
      std::sort(members.begin(), members.end());
      return members;
    }
    for (Rank rank = 0; rank < programs_.size(); ++rank) {
      const auto& roles = programs_[rank].communications.role;
      if (name == kChakraAllRanks || std::find(roles.begin(), roles.end(), role) != roles.end()) {
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

/// Chakra counts what each rank gives, we what each gets.
void CountWholeGathers(Program& program, Rank rank, const Ensemble& ensemble) {
  for (CommunicationId i = 0; i < program.communications.size(); ++i) {
    const GroupId group = ensemble.GroupOf(rank, program.communications.role[i]);
    if (program.communications.kind[i] == CollectiveKind::kAllGather && group != kNoGroup) {
      program.communications.bytes[i] *= static_cast<std::int64_t>(ensemble.Members(group).size());
    }
  }
}

void ShareEqual(std::vector<Program> programs, Ensemble& ensemble) {
  for (Program& program : programs) {
    auto same = std::find(ensemble.programs.begin(), ensemble.programs.end(), program);
    ensemble.program_of_rank.push_back(static_cast<ProgramId>(same - ensemble.programs.begin()));
    if (same == ensemble.programs.end()) {
      ensemble.programs.push_back(std::move(program));
    }
  }
}

}  // namespace

Result<ChakraEnsemble> EnsembleOfChakra(std::span<const ChakraTrace> traces,
                                        const ChakraGroups& groups) {
  if (traces.empty() || traces.size() > (1U << 24)) {
    return Fail(Error::Kind::kInvalidInput, "a job has 1 to 16777216 execution traces");
  }
  ChakraEnsemble result;
  std::vector<Program> programs;
  std::vector<std::map<std::string, ChakraMessagePair>> pairs;
  for (Rank rank = 0; rank < traces.size(); ++rank) {
    result.problems.Merge(traces[rank].problems, fmt::format("rank {}", rank));
    ORRERY_TRY(ChakraRank built, RankOfChakra(traces[rank], rank, result.problems));
    programs.push_back(std::move(built.program));
    pairs.push_back(std::move(built.pair_of_role));
  }
  UniteGroupRoles(programs);
  Ensemble& ensemble = result.ensemble;
  ensemble.knows_stages = false;
  ORRERY_TRY_STATUS(GroupBuilder(programs, pairs, groups, ensemble).Build());
  for (Rank rank = 0; rank < traces.size(); ++rank) {
    CountWholeGathers(programs[rank], rank, ensemble);
    ensemble.gpu_of_rank.push_back(static_cast<network::GpuId>(rank));
    ensemble.slowness_of_rank.push_back(1);
  }
  ShareEqual(std::move(programs), ensemble);
  return result;
}

}  // namespace orrery::workload
