#include "orrery/simulate/cast.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>

#include <tsl/robin_map.h>

#include "orrery/base/check.h"
#include "orrery/base/mix_bits.h"

namespace orrery::simulate {
namespace {

using workload::Ensemble;
using workload::GroupId;
using workload::kNoGroup;
using workload::Rank;

using ChannelId = std::uint32_t;

struct SpreadBits {
  std::size_t operator()(std::uint64_t bits) const { return MixBits(bits); }
};

template <typename Key>
using Numbering = tsl::robin_map<Key, std::uint32_t, SpreadBits>;

// The number of `key`: those that are known keep theirs, a new one gets the next.
template <typename Key>
std::uint32_t NumberOf(Numbering<Key>& numbers, Key key) {
  return numbers.try_emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
}

std::uint64_t Joined(std::uint64_t lhs, std::uint64_t rhs) {
  return MixBits(lhs * 0x9e3779b97f4a7c15 + rhs + 1);
}

// Where communication is matched: a group, or, where its members have it on several slots, the
// group on one of them.
struct Channels {
  std::vector<ChannelId> of_slot;  // rank · num_slots + slot
  std::vector<GroupId> group;      // by channel
};

class ChannelFinder {
 public:
  explicit ChannelFinder(const Ensemble& ensemble) : ensemble_(ensemble) {
    channels_.of_slot.assign(ensemble.group_of_slot.size(), kNoGroup);
    channels_.group.resize(ensemble.num_groups());
    std::iota(channels_.group.begin(), channels_.group.end(), 0);
    CountUses();
  }

  Channels Find() {
    const std::vector<bool> is_used = UsedSlots();
    for (std::size_t place = 0; place < ensemble_.group_of_slot.size(); ++place) {
      const GroupId group = ensemble_.group_of_slot[place];
      const std::size_t slot = place % ensemble_.num_slots;
      if (group != kNoGroup && is_used[slot]) {
        channels_.of_slot[place] = ChannelOf(group, slot);
      }
    }
    return std::move(channels_);
  }

 private:
  void CountUses() {
    uses_.assign(ensemble_.num_groups(), 0);
    for (const GroupId group : ensemble_.group_of_slot) {
      if (group != kNoGroup) {
        ++uses_[group];
      }
    }
  }

  // Slots on which some program communicates; the others make no difference.
  [[nodiscard]] std::vector<bool> UsedSlots() const {
    std::vector<bool> is_used(ensemble_.num_slots, false);
    for (const workload::Program& program : ensemble_.programs) {
      for (const std::uint32_t slot : program.communications.slot) {
        ORRERY_CHECK(slot < ensemble_.num_slots, "communications use the slots of the ensemble");
        is_used[slot] = true;
      }
    }
    return is_used;
  }

  ChannelId ChannelOf(GroupId group, std::size_t slot) {
    const std::size_t num_members = ensemble_.Members(group).size();
    ORRERY_CHECK(uses_[group] % num_members == 0, "all members of a group have it on a slot");
    if (uses_[group] == num_members) {
      return group;
    }
    const std::uint64_t key = static_cast<std::uint64_t>(group) * ensemble_.num_slots + slot;
    const ChannelId channel = ensemble_.num_groups() + NumberOf(extra_, key);
    if (channel == channels_.group.size()) {
      channels_.group.push_back(group);
    }
    return channel;
  }

  const Ensemble& ensemble_;
  Channels channels_;
  std::vector<std::uint32_t> uses_;  // by group: pairs of a rank and a slot
  Numbering<std::uint64_t> extra_;   // (group, slot) → channels beyond those of the groups
};

void PutGpusOf(const Ensemble& ensemble, GroupId group, std::vector<network::GpuId>& gpus) {
  gpus.clear();
  for (const Rank rank : ensemble.Members(group)) {
    gpus.push_back(ensemble.gpu_of_rank[rank]);
  }
}

std::vector<std::uint64_t> LinkClasses(const Ensemble& ensemble, const LinkClass& link_class) {
  std::vector<std::uint64_t> classes;
  classes.reserve(ensemble.num_groups());
  std::vector<network::GpuId> gpus;
  for (GroupId group = 0; group < ensemble.num_groups(); ++group) {
    PutGpusOf(ensemble, group, gpus);
    classes.push_back(link_class.Of(gpus));
  }
  return classes;
}

double SlownessOf(const Ensemble& ensemble, Rank rank) {
  return ensemble.slowness_of_rank.empty() ? 1.0 : ensemble.slowness_of_rank[rank];
}

// Refines classes of ranks. Multisets are compared by sums of 64 spread bits.
class Refinement {
 public:
  Refinement(const Ensemble& ensemble, const Channels& channels,
             const std::vector<std::uint64_t>& link_of_group)
      : ensemble_(ensemble), channels_(channels), link_of_group_(link_of_group) {
    StartClasses();
    FindMessages();
  }

  void Run() {
    std::uint32_t before = 0;
    do {
      before = num_classes_;
      LookAtGroups();
      Split();
    } while (num_classes_ != before);
  }

  [[nodiscard]] const std::vector<PlayerId>& class_of_rank() const { return class_of_rank_; }

  // What a channel looks like; after Run equal for channels that behave alike.
  [[nodiscard]] const std::vector<std::uint64_t>& look_of_channel() const {
    return look_of_channel_;
  }

 private:
  void StartClasses() {
    Numbering<std::uint64_t> numbers;
    class_of_rank_.resize(ensemble_.num_ranks());
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      std::uint64_t slowness = 0;
      const double value = SlownessOf(ensemble_, rank);
      std::memcpy(&slowness, &value, sizeof(slowness));
      class_of_rank_[rank] = NumberOf(numbers, Joined(slowness, ensemble_.program_of_rank[rank]));
    }
    num_classes_ = static_cast<std::uint32_t>(numbers.size());
  }

  // The members of a pair that sends and receives must differ: one of them is the lower.
  void FindMessages() {
    std::vector<bool> has_messages(ensemble_.num_slots, false);
    for (const workload::Program& program : ensemble_.programs) {
      for (std::size_t i = 0; i < program.communications.size(); ++i) {
        if (program.communications.kind[i] == collective::CollectiveKind::kSendRecv) {
          has_messages[program.communications.slot[i]] = true;
        }
      }
    }
    is_lower_of_pair_.assign(channels_.of_slot.size(), 0);
    for (std::size_t place = 0; place < channels_.of_slot.size(); ++place) {
      const ChannelId channel = channels_.of_slot[place];
      if (channel != kNoGroup && has_messages[place % ensemble_.num_slots]) {
        const auto rank = static_cast<Rank>(place / ensemble_.num_slots);
        is_lower_of_pair_[place] = IsLowerOfPair(rank, channel) ? 1 : 0;
      }
    }
  }

  void LookAtGroups() {
    look_of_channel_.resize(channels_.group.size());
    for (ChannelId channel = 0; channel < channels_.group.size(); ++channel) {
      look_of_channel_[channel] = link_of_group_[channels_.group[channel]];
    }
    std::size_t place = 0;
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      const std::uint64_t bits = MixBits(class_of_rank_[rank] + 1);
      for (std::uint32_t slot = 0; slot < ensemble_.num_slots; ++slot, ++place) {
        if (channels_.of_slot[place] != kNoGroup) {
          look_of_channel_[channels_.of_slot[place]] += Joined(bits, slot);
        }
      }
    }
  }

  void Split() {
    Numbering<std::uint64_t> numbers;
    numbers.reserve(2 * static_cast<std::size_t>(num_classes_));
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      class_of_rank_[rank] = NumberOf(numbers, SignatureOf(rank));
    }
    num_classes_ = static_cast<std::uint32_t>(numbers.size());
  }

  [[nodiscard]] std::uint64_t SignatureOf(Rank rank) const {
    std::uint64_t bits = MixBits(class_of_rank_[rank] + 1);
    std::size_t place = static_cast<std::size_t>(rank) * ensemble_.num_slots;
    for (std::uint32_t slot = 0; slot < ensemble_.num_slots; ++slot, ++place) {
      const ChannelId channel = channels_.of_slot[place];
      bits = Joined(bits, channel == kNoGroup ? 0 : look_of_channel_[channel]);
      bits += is_lower_of_pair_[place];
    }
    return bits;
  }

  [[nodiscard]] bool IsLowerOfPair(Rank rank, ChannelId channel) const {
    const auto members = ensemble_.Members(channels_.group[channel]);
    return members.size() == 2 && rank == std::min(members[0], members[1]);
  }

  const Ensemble& ensemble_;
  const Channels& channels_;
  const std::vector<std::uint64_t>& link_of_group_;
  std::vector<std::uint8_t> is_lower_of_pair_;  // rank · num_slots + slot
  std::vector<PlayerId> class_of_rank_;
  std::vector<std::uint64_t> look_of_channel_;
  std::uint32_t num_classes_ = 0;
};

Cast EmptyCast(const Ensemble& ensemble) {
  Cast cast;
  cast.ensemble = &ensemble;
  cast.num_slots = ensemble.num_slots;
  for (const workload::Program& program : ensemble.programs) {
    cast.programs.push_back(&program);
  }
  return cast;
}

void AddPlayers(Cast& cast) {
  const Ensemble& ensemble = *cast.ensemble;
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    const PlayerId player = cast.player_of_rank[rank];
    if (player < cast.players.size()) {
      ++cast.players[player].multiplicity;
    } else {
      cast.players.push_back({.program = ensemble.program_of_rank[rank],
                              .slowness = SlownessOf(ensemble, rank),
                              .rank = rank});
    }
  }
}

// `look_of_channel` tells which channels are one group of the cast.
void AddGroups(Cast& cast, const Channels& channels,
               const std::vector<std::uint64_t>& look_of_channel,
               const std::vector<std::uint64_t>& link_of_group) {
  const Ensemble& ensemble = *cast.ensemble;
  Numbering<std::uint64_t> numbers;
  cast.group_of_slot.reserve(cast.players.size() * ensemble.num_slots);
  for (const Player& player : cast.players) {
    const std::size_t first = static_cast<std::size_t>(player.rank) * ensemble.num_slots;
    for (std::size_t place = first; place < first + ensemble.num_slots; ++place) {
      const ChannelId channel = channels.of_slot[place];
      if (channel == kNoGroup) {
        cast.group_of_slot.push_back(kNoGroup);
        continue;
      }
      const CastGroupId group = NumberOf(numbers, look_of_channel[channel]);
      if (group == cast.groups.size()) {
        const GroupId real = channels.group[channel];
        cast.groups.push_back(
            {.group = real,
             .num_ranks = static_cast<std::uint32_t>(ensemble.Members(real).size()),
             .link_class = link_of_group[real]});
      }
      ++cast.groups[group].num_seats;
      cast.group_of_slot.push_back(group);
    }
  }
}

}  // namespace

std::vector<network::GpuId> Cast::GpusOf(CastGroupId group) const {
  std::vector<network::GpuId> gpus;
  PutGpusOf(*ensemble, groups[group].group, gpus);
  return gpus;
}

Cast Fold(const Ensemble& ensemble, const LinkClass& link_class) {
  const Channels channels = ChannelFinder(ensemble).Find();
  const std::vector<std::uint64_t> link_of_group = LinkClasses(ensemble, link_class);
  Refinement refinement(ensemble, channels, link_of_group);
  refinement.Run();
  Cast cast = EmptyCast(ensemble);
  cast.player_of_rank = refinement.class_of_rank();
  AddPlayers(cast);
  AddGroups(cast, channels, refinement.look_of_channel(), link_of_group);
  return cast;
}

Cast Unfolded(const Ensemble& ensemble, const LinkClass& link_class) {
  const Channels channels = ChannelFinder(ensemble).Find();
  const std::vector<std::uint64_t> link_of_group = LinkClasses(ensemble, link_class);
  Cast cast = EmptyCast(ensemble);
  cast.player_of_rank.resize(ensemble.num_ranks());
  std::iota(cast.player_of_rank.begin(), cast.player_of_rank.end(), 0);
  AddPlayers(cast);
  std::vector<std::uint64_t> looks(channels.group.size());
  std::iota(looks.begin(), looks.end(), 0);
  AddGroups(cast, channels, looks, link_of_group);
  return cast;
}

Cast Solo(const workload::Program& program) {
  Cast cast;
  cast.programs = {&program};
  cast.players = {Player{}};
  cast.player_of_rank = {0};
  return cast;
}

}  // namespace orrery::simulate
