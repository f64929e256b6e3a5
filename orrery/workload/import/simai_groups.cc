#include "orrery/workload/import/simai_groups.h"

#include <cstddef>
#include <vector>

#include "orrery/workload/generate/step.h"

namespace orrery::workload {
namespace {

class GroupWriter {
 public:
  GroupWriter(const SimaiDegrees& degrees, Ensemble& ensemble)
      : degrees_(degrees), ensemble_(ensemble) {}

  void Write() {
    for (Rank stage = 0; stage < degrees_.stages; ++stage) {
      for (Rank data = 0; data < degrees_.data; ++data) {
        Join(Slot::kTensor, degrees_.tensor,
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
  void Join(Slot slot, Rank size, const RankOf& rank_of) {
    if (size < 2) {  // nobody to talk to
      return;
    }
    std::vector<Rank> members(size);
    for (Rank i = 0; i < size; ++i) {
      members[i] = rank_of(i);
    }
    const GroupId group = ensemble_.AddGroup(members);
    for (const Rank rank : members) {
      Seat(rank, slot, group);
    }
  }

  void Seat(Rank rank, Slot slot, GroupId group) {
    ensemble_.group_of_slot[static_cast<std::size_t>(rank) * kNumSlots +
                            static_cast<std::size_t>(slot)] = group;
  }

  void WriteData(Rank tensor, Rank stage) {
    const Rank replicas = degrees_.data / degrees_.expert;
    Join(Slot::kData, degrees_.data, [&](Rank i) { return degrees_.RankAt(tensor, i, stage); });
    for (Rank replica = 0; replica < replicas; ++replica) {
      Join(Slot::kExperts, degrees_.expert,
           [&](Rank i) { return degrees_.RankAt(tensor, replica * degrees_.expert + i, stage); });
    }
    for (Rank expert = 0; expert < degrees_.expert; ++expert) {
      Join(Slot::kExpertData, replicas,
           [&](Rank i) { return degrees_.RankAt(tensor, i * degrees_.expert + expert, stage); });
    }
  }

  void WriteNeighbours() {
    for (Rank stage = 0; stage < degrees_.stages; ++stage) {
      for (Rank place = 0; place < degrees_.tensor * degrees_.data; ++place) {
        const Rank here = degrees_.RankAt(place, 0, stage);
        const Rank next = degrees_.RankAt(place, 0, (stage + 1) % degrees_.stages);
        const GroupId forward = ensemble_.AddGroup(std::vector<Rank>{here, next});
        Seat(here, Slot::kNextForwardOut, forward);
        Seat(next, Slot::kPreviousForwardIn, forward);
        const GroupId backward = ensemble_.AddGroup(std::vector<Rank>{next, here});
        Seat(next, Slot::kPreviousBackwardOut, backward);
        Seat(here, Slot::kNextBackwardIn, backward);
      }
    }
  }

  SimaiDegrees degrees_;
  Ensemble& ensemble_;
};

}  // namespace

void JoinSimaiGroups(const SimaiDegrees& degrees, Ensemble& ensemble) {
  ensemble.num_slots = kNumSlots;
  ensemble.group_of_slot.assign(static_cast<std::size_t>(ensemble.num_ranks()) * kNumSlots,
                                kNoGroup);
  GroupWriter(degrees, ensemble).Write();
}

}  // namespace orrery::workload
