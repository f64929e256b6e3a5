#include "orrery/compat/simai/groups.h"

#include <cstddef>
#include <vector>

#include "orrery/workload/generate/layer_op.h"

namespace orrery::compat::simai {

using workload::GroupId, workload::GroupRole, workload::kNoGroup, workload::kNumGroupRoles;

namespace {

class GroupWriter {
 public:
  GroupWriter(const Degrees& degrees, Ensemble& ensemble)
      : degrees_(degrees), ensemble_(ensemble) {}

  void Write() {
    for (Rank stage = 0; stage < degrees_.stages; ++stage) {
      for (Rank data = 0; data < degrees_.data; ++data) {
        Join(GroupRole::kTensor, degrees_.tensor,
             [&](Rank i) { return degrees_.RankAt(i, data, stage); });
      }
      for (Rank tensor = 0; tensor < degrees_.tensor; ++tensor) {
        WriteData(tensor, stage);
      }
    }
    if (degrees_.stages > 1) {
      WriteNeighbours();
    }
  }

 private:
  template <typename RankOf>
  void Join(GroupRole role, Rank size, const RankOf& rank_of) {
    if (size < 2) {
      return;
    }
    std::vector<Rank> members(size);
    for (Rank i = 0; i < size; ++i) {
      members[i] = rank_of(i);
    }
    const GroupId group = ensemble_.AddGroup(members);
    for (const Rank rank : members) {
      SetGroup(rank, role, group);
    }
  }

  void SetGroup(Rank rank, GroupRole role, GroupId group) {
    ensemble_.group_of_role[static_cast<std::size_t>(rank) * kNumGroupRoles +
                            static_cast<std::size_t>(role)] = group;
  }

  void WriteData(Rank tensor, Rank stage) {
    const Rank replicas = degrees_.data / degrees_.expert;
    Join(GroupRole::kData, degrees_.data,
         [&](Rank i) { return degrees_.RankAt(tensor, i, stage); });
    for (Rank replica = 0; replica < replicas; ++replica) {
      Join(GroupRole::kExperts, degrees_.expert,
           [&](Rank i) { return degrees_.RankAt(tensor, replica * degrees_.expert + i, stage); });
    }
    for (Rank expert = 0; expert < degrees_.expert; ++expert) {
      Join(GroupRole::kExpertData, replicas,
           [&](Rank i) { return degrees_.RankAt(tensor, i * degrees_.expert + expert, stage); });
    }
  }

  void WriteNeighbours() {
    for (Rank stage = 0; stage < degrees_.stages; ++stage) {
      for (Rank place = 0; place < degrees_.tensor * degrees_.data; ++place) {
        const Rank here = degrees_.RankAt(place, 0, stage);
        const Rank next = degrees_.RankAt(place, 0, (stage + 1) % degrees_.stages);
        const GroupId forward = ensemble_.AddGroup(std::vector<Rank>{here, next});
        SetGroup(here, GroupRole::kNextForwardOut, forward);
        SetGroup(next, GroupRole::kPreviousForwardIn, forward);
        const GroupId backward = ensemble_.AddGroup(std::vector<Rank>{next, here});
        SetGroup(next, GroupRole::kPreviousBackwardOut, backward);
        SetGroup(here, GroupRole::kNextBackwardIn, backward);
      }
    }
  }

  Degrees degrees_;
  Ensemble& ensemble_;
};

}  // namespace

void AddGroups(const Degrees& degrees, Ensemble& ensemble) {
  ensemble.num_roles = kNumGroupRoles;
  ensemble.group_of_role.assign(static_cast<std::size_t>(ensemble.num_ranks()) * kNumGroupRoles,
                                kNoGroup);
  GroupWriter(degrees, ensemble).Write();
}

}  // namespace orrery::compat::simai
