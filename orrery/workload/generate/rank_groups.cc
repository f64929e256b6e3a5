#include "orrery/workload/generate/rank_groups.h"

#include <array>
#include <functional>
#include <vector>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/plan/context_ranks.h"

namespace orrery::workload {
namespace {

class GroupWriter {
 public:
  GroupWriter(const Plan& plan, const PipelineShape& shape, Ensemble& ensemble)
      : plan_(plan), shape_(shape), ensemble_(ensemble) {}

  void AddAll() {
    AddGroups(GroupRole::kTensor, plan_.tp, [this](int i, RankPlace place) {
      place.tp = i;
      return RankAt(plan_, place);
    });
    AddContextGroups();
    AddDataGroups();
    AddExpertGroups();
    AddGroups(GroupRole::kAll, plan_.tp * plan_.cp * plan_.dp * plan_.pp,
              [](int i, const RankPlace&) { return static_cast<Rank>(i); });
    AddTables();
    if (plan_.pp > 1) {
      AddGroups(GroupRole::kTied, 2, [this](int i, RankPlace place) {
        place.pp = i == 0 ? 0 : plan_.pp - 1;
        return RankAt(plan_, place);
      });
      AddMessages();
    }
  }

 private:
  using MemberOf = std::function<Rank(int index, const RankPlace& place)>;

  // Each rank that has no group on the role yet founds one with those that `member` names.
  void AddGroups(GroupRole role, int size, const MemberOf& member) {
    std::vector<Rank> members(static_cast<std::size_t>(size));
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      if (ensemble_.GroupOf(rank, static_cast<std::uint32_t>(role)) != kNoGroup) {
        continue;
      }
      const RankPlace place = PlaceOfRank(plan_, rank);
      bool is_member = false;
      for (int i = 0; i < size; ++i) {
        members[static_cast<std::size_t>(i)] = member(i, place);
        is_member = is_member || members[static_cast<std::size_t>(i)] == rank;
      }
      if (is_member) {
        AddGroup(role, members);
      }
    }
  }

  void AddGroup(GroupRole role, const std::vector<Rank>& members) {
    const GroupId group = ensemble_.AddGroup(members);
    for (const Rank member : members) {
      Set(member, role, group);
    }
  }

  void Set(Rank rank, GroupRole role, GroupId group) {
    ensemble_.group_of_role[static_cast<std::size_t>(rank) * ensemble_.num_roles +
                            static_cast<std::uint32_t>(role)] = group;
  }

  // All of them, or neighbours that deal heads and rings across these.
  void AddContextGroups() {
    const bool has_rings = plan_.context == ContextKind::kUlyssesRing;
    const ContextRanks ranks = ContextRanksOf(plan_);
    const int inside = has_rings ? ranks.dealing : plan_.cp;
    AddGroups(GroupRole::kContext, inside, [&](int i, RankPlace place) {
      place.cp = place.cp / inside * inside + i;
      return RankAt(plan_, place);
    });
    if (has_rings) {
      AddGroups(GroupRole::kContextRing, ranks.ring, [&](int i, RankPlace place) {
        place.cp = place.cp % inside + i * inside;
        return RankAt(plan_, place);
      });
    }
  }

  // Data-parallel ranks count context-parallel ones first; shards are dealt among neighbours.
  void AddDataGroups() {
    const int copies = plan_.dp * plan_.cp;
    const int shard = plan_.shard_ranks > 0 ? plan_.shard_ranks : copies;
    const auto at = [this](int index, RankPlace place) {
      place.cp = index % plan_.cp;
      place.dp = index / plan_.cp;
      return RankAt(plan_, place);
    };
    AddGroups(GroupRole::kData, shard, [&](int i, const RankPlace& place) {
      const int own = place.cp + plan_.cp * place.dp;
      return at(own / shard * shard + i, place);
    });
    if (shard < copies) {
      AddGroups(GroupRole::kReplicas, copies / shard, [&](int i, const RankPlace& place) {
        const int own = place.cp + plan_.cp * place.dp;
        return at(own % shard + i * shard, place);
      });
    }
  }

  // The same ranks as everybody.
  void AddTables() {
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      Set(rank, GroupRole::kTables,
          ensemble_.GroupOf(rank, static_cast<std::uint32_t>(GroupRole::kAll)));
    }
  }

  // Inside a stage, ranks count tp, cp, dp; experts are dealt anew over them.
  void AddExpertGroups() {
    const int ranks = plan_.tp * plan_.cp * plan_.dp;
    const int etp = plan_.expert_tp;
    const int ep = plan_.ep;
    const auto own = [this](const RankPlace& place) {
      return place.tp + plan_.tp * (place.cp + plan_.cp * place.dp);
    };
    const auto at = [this](int index, RankPlace place) {
      place.tp = index % plan_.tp;
      place.cp = index / plan_.tp % plan_.cp;
      place.dp = index / plan_.tp / plan_.cp;
      return RankAt(plan_, place);
    };
    AddGroups(GroupRole::kExpertTensor, etp,
              [&](int i, const RankPlace& place) { return at(own(place) / etp * etp + i, place); });
    AddGroups(GroupRole::kExperts, ep, [&](int i, const RankPlace& place) {
      const int index = own(place);
      return at(index / (etp * ep) * etp * ep + i * etp + index % etp, place);
    });
    AddGroups(GroupRole::kExpertData, ranks / (etp * ep), [&](int i, const RankPlace& place) {
      return at(own(place) % (etp * ep) + i * etp * ep, place);
    });
  }

  // A pair for each direction of each pass between neighbours; the chain is a ring where layers go
  // from the last device to the first again.
  void AddMessages() {
    const bool is_ring = shape_.schedule == PipelineSchedule::kInterleaved;
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      RankPlace place = PlaceOfRank(plan_, rank);
      if (place.pp + 1 == plan_.pp && !is_ring) {
        continue;
      }
      place.pp = (place.pp + 1) % plan_.pp;
      const Rank next = RankAt(plan_, place);
      AddPair(rank, GroupRole::kNextForwardOut, next, GroupRole::kPreviousForwardIn);
      AddPair(next, GroupRole::kPreviousBackwardOut, rank, GroupRole::kNextBackwardIn);
      AddPair(next, GroupRole::kPreviousForwardOut, rank, GroupRole::kNextForwardIn);
      AddPair(rank, GroupRole::kNextBackwardOut, next, GroupRole::kPreviousBackwardIn);
    }
  }

  void AddPair(Rank from, GroupRole out, Rank to, GroupRole in) {
    const GroupId group = ensemble_.AddGroup(std::array<Rank, 2>{from, to});
    Set(from, out, group);
    Set(to, in, group);
  }

  const Plan& plan_;
  const PipelineShape& shape_;
  Ensemble& ensemble_;
};

}  // namespace

RankPlace PlaceOfRank(const Plan& plan, Rank rank) {
  int rest = static_cast<int>(rank);
  RankPlace place;
  place.tp = rest % plan.tp;
  rest /= plan.tp;
  place.cp = rest % plan.cp;
  rest /= plan.cp;
  if (plan.pipeline_is_innermost) {
    place.pp = rest % plan.pp;
    place.dp = rest / plan.pp;
  } else {
    place.dp = rest % plan.dp;
    place.pp = rest / plan.dp;
  }
  return place;
}

Rank RankAt(const Plan& plan, const RankPlace& place) {
  const int outer =
      plan.pipeline_is_innermost ? place.pp + plan.pp * place.dp : place.dp + plan.dp * place.pp;
  return static_cast<Rank>(place.tp + plan.tp * (place.cp + plan.cp * outer));
}

void AddRanks(const Plan& plan, const PipelineShape& shape, Ensemble& ensemble) {
  const int ranks = plan.tp * plan.cp * plan.dp * plan.pp;
  ensemble.num_roles = kNumGroupRoles;
  ensemble.slowness_of_rank.assign(static_cast<std::size_t>(ranks), 1.0);
  ensemble.group_of_role.assign(static_cast<std::size_t>(ranks) * kNumGroupRoles, kNoGroup);
  for (Rank rank = 0; rank < static_cast<Rank>(ranks); ++rank) {
    ensemble.program_of_rank.push_back(static_cast<ProgramId>(PlaceOfRank(plan, rank).pp));
    ensemble.gpu_of_rank.push_back(rank);
  }
  GroupWriter(plan, shape, ensemble).AddAll();
}

}  // namespace orrery::workload
