#include "orrery/simulate/engine/rank_classes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/check.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/network/topology.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

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

struct Visit {
  std::uint32_t island = 0;
  std::uint32_t ranks = 0;
};

// The channels in which communication is matched: a group, or, if its members have it on several
// roles, the group on one of them.
struct Channels {
  std::vector<ChannelId> of_role;  // rank · num_roles + role
  std::vector<GroupId> group;      // by channel
};

// Roles on which some program communicates; the others make no difference.
std::vector<bool> UsedRoles(const Ensemble& ensemble) {
  std::vector<bool> is_used(ensemble.num_roles, false);
  for (const workload::Program& program : ensemble.programs) {
    for (const std::uint32_t role : program.communications.role) {
      ORRERY_CHECK(role < ensemble.num_roles, "communications use the roles of the ensemble");
      is_used[role] = true;
    }
  }
  return is_used;
}

Channels ChannelsOf(const Ensemble& ensemble) {
  std::vector<std::uint32_t> uses(ensemble.num_groups(), 0);  // pairs of a rank and a role
  for (const GroupId group : ensemble.group_of_role) {
    if (group != kNoGroup) {
      ++uses[group];
    }
  }
  Channels channels;
  channels.of_role.assign(ensemble.group_of_role.size(), kNoGroup);
  channels.group.resize(ensemble.num_groups());
  std::iota(channels.group.begin(), channels.group.end(), 0);
  const std::vector<bool> is_used = UsedRoles(ensemble);
  Numbering<std::uint64_t> extra;  // (group, role) → channels beyond those of the groups
  for (std::size_t place = 0; place < ensemble.group_of_role.size(); ++place) {
    const GroupId group = ensemble.group_of_role[place];
    const std::size_t role = place % ensemble.num_roles;
    if (group == kNoGroup || !is_used[role]) {
      continue;
    }
    const std::size_t num_members = ensemble.Members(group).size();
    ORRERY_CHECK(uses[group] % num_members == 0, "all members of a group have it on a role");
    ChannelId channel = group;
    if (uses[group] != num_members) {
      const std::uint64_t key = static_cast<std::uint64_t>(group) * ensemble.num_roles + role;
      channel = ensemble.num_groups() + NumberOf(extra, key);
    }
    if (channel == channels.group.size()) {
      channels.group.push_back(group);
    }
    channels.of_role[place] = channel;
  }
  return channels;
}

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
             const std::vector<std::uint64_t>& link_of_group,
             std::span<const std::vector<std::uint32_t>> places)
      : ensemble_(ensemble), channels_(channels), link_of_group_(link_of_group), places_(places) {
    StartClasses();
    FindMessages();
  }

  void Run() {
    std::uint32_t before = 0;
    do {
      before = num_classes_;
      LookAtGroups();
      LookAtPlaces();
      Split();
    } while (num_classes_ != before);
  }

  [[nodiscard]] const std::vector<RankClassId>& class_of_rank() const { return class_of_rank_; }

  // A hash of each channel; after Run equal for channels that behave alike.
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
    std::vector<bool> has_messages(ensemble_.num_roles, false);
    for (const workload::Program& program : ensemble_.programs) {
      for (std::size_t i = 0; i < program.communications.size(); ++i) {
        if (program.communications.kind[i] == CollectiveKind::kSendRecv) {
          has_messages[program.communications.role[i]] = true;
        }
      }
    }
    is_lower_of_pair_.assign(channels_.of_role.size(), 0);
    for (std::size_t place = 0; place < channels_.of_role.size(); ++place) {
      const ChannelId channel = channels_.of_role[place];
      if (channel != kNoGroup && has_messages[place % ensemble_.num_roles]) {
        const auto rank = static_cast<Rank>(place / ensemble_.num_roles);
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
      for (std::uint32_t role = 0; role < ensemble_.num_roles; ++role, ++place) {
        if (channels_.of_role[place] != kNoGroup) {
          look_of_channel_[channels_.of_role[place]] += Joined(bits, role);
        }
      }
    }
  }

  void LookAtPlaces() {
    looks_of_places_.resize(places_.size());
    for (std::size_t i = 0; i < places_.size(); ++i) {
      std::vector<std::uint64_t>& looks = looks_of_places_[i];
      looks.clear();
      for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
        const std::uint32_t place = places_[i][rank];
        looks.resize(std::max<std::size_t>(looks.size(), place + 1));
        looks[place] += MixBits(class_of_rank_[rank] + 1);
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
    std::size_t place = static_cast<std::size_t>(rank) * ensemble_.num_roles;
    for (std::uint32_t role = 0; role < ensemble_.num_roles; ++role, ++place) {
      const ChannelId channel = channels_.of_role[place];
      bits = Joined(bits, channel == kNoGroup ? 0 : look_of_channel_[channel]);
      bits += is_lower_of_pair_[place];
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      bits = Joined(bits, looks_of_places_[i][places_[i][rank]]);
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
  std::span<const std::vector<std::uint32_t>> places_;
  std::vector<std::vector<std::uint64_t>> looks_of_places_;
  std::vector<std::uint8_t> is_lower_of_pair_;  // rank · num_roles + role
  std::vector<RankClassId> class_of_rank_;
  std::vector<std::uint64_t> look_of_channel_;
  std::uint32_t num_classes_ = 0;
};

RankClasses ClassesOf(const Ensemble& ensemble, std::vector<RankClassId> class_of_rank) {
  RankClasses rank_classes;
  rank_classes.ensemble = &ensemble;
  rank_classes.num_roles = ensemble.num_roles;
  for (const workload::Program& program : ensemble.programs) {
    rank_classes.programs.push_back(&program);
  }
  rank_classes.class_of_rank = std::move(class_of_rank);
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    const RankClassId rank_class = rank_classes.class_of_rank[rank];
    if (rank_class < rank_classes.classes.size()) {
      ++rank_classes.classes[rank_class].multiplicity;
    } else {
      rank_classes.classes.push_back({.program = ensemble.program_of_rank[rank],
                                      .slowness = SlownessOf(ensemble, rank),
                                      .rank = rank});
    }
  }
  return rank_classes;
}

// `look_of_channel` tells which channels are one group of the rank_classes.
void AddGroups(RankClasses& rank_classes, const Channels& channels,
               const std::vector<std::uint64_t>& look_of_channel,
               const std::vector<std::uint64_t>& link_of_group) {
  const Ensemble& ensemble = *rank_classes.ensemble;
  Numbering<std::uint64_t> numbers;
  rank_classes.group_of_role.reserve(rank_classes.classes.size() * ensemble.num_roles);
  for (const RankClass& rank_class : rank_classes.classes) {
    const std::size_t first = static_cast<std::size_t>(rank_class.rank) * ensemble.num_roles;
    for (std::size_t place = first; place < first + ensemble.num_roles; ++place) {
      const ChannelId channel = channels.of_role[place];
      if (channel == kNoGroup) {
        rank_classes.group_of_role.push_back(kNoGroup);
        continue;
      }
      const GroupClassId group = NumberOf(numbers, look_of_channel[channel]);
      if (group == rank_classes.groups.size()) {
        const GroupId real = channels.group[channel];
        rank_classes.groups.push_back(
            {.group = real,
             .num_ranks = static_cast<std::uint32_t>(ensemble.Members(real).size()),
             .link_class = link_of_group[real]});
      }
      ++rank_classes.groups[group].num_members;
      rank_classes.group_of_role.push_back(group);
    }
  }
}

}  // namespace

IslandLinkClass::IslandLinkClass(std::uint32_t gpus_per_island)
    : gpus_per_island_(gpus_per_island) {
  ORRERY_CHECK(gpus_per_island > 0, "an island has GPUs");
}

// Most groups meet their islands in ascending order: then nothing is searched.
std::uint64_t IslandLinkClass::Of(std::span<const network::GpuId> gpus) const {
  std::vector<Visit> visits;
  std::uint32_t highest = 0;
  for (const network::GpuId gpu : gpus) {
    const std::uint32_t island = gpu / gpus_per_island_;
    const auto known = visits.empty() || island > highest
                           ? visits.rend()
                           : std::find_if(visits.rbegin(), visits.rend(), [&](const Visit& visit) {
                               return visit.island == island;
                             });
    ++(known == visits.rend() ? visits.emplace_back(Visit{island}) : *known).ranks;
    highest = std::max(highest, island);
  }
  std::uint64_t bits = 0;
  for (const Visit& visit : visits) {
    bits = MixBits(bits + visit.ranks + 0x9e3779b97f4a7c15);
  }
  return bits;
}

std::vector<network::GpuId> RankClasses::GpusOf(GroupClassId group) const {
  std::vector<network::GpuId> gpus;
  PutGpusOf(*ensemble, groups[group].group, gpus);
  return gpus;
}

RankClasses Fold(const Ensemble& ensemble, const LinkClass& link_class,
                 std::span<const std::vector<std::uint32_t>> places) {
  const Channels channels = ChannelsOf(ensemble);
  const std::vector<std::uint64_t> link_of_group = LinkClasses(ensemble, link_class);
  Refinement refinement(ensemble, channels, link_of_group, places);
  refinement.Run();
  RankClasses rank_classes = ClassesOf(ensemble, refinement.class_of_rank());
  AddGroups(rank_classes, channels, refinement.look_of_channel(), link_of_group);
  return rank_classes;
}

RankClasses Unfolded(const Ensemble& ensemble, const LinkClass& link_class) {
  const Channels channels = ChannelsOf(ensemble);
  std::vector<RankClassId> class_of_rank(ensemble.num_ranks());
  std::iota(class_of_rank.begin(), class_of_rank.end(), 0);
  RankClasses rank_classes = ClassesOf(ensemble, std::move(class_of_rank));
  std::vector<std::uint64_t> looks(channels.group.size());
  std::iota(looks.begin(), looks.end(), 0);
  AddGroups(rank_classes, channels, looks, LinkClasses(ensemble, link_class));
  return rank_classes;
}

RankClasses SingleRank(const workload::Program& program) {
  RankClasses rank_classes;
  rank_classes.programs = {&program};
  rank_classes.classes = {RankClass{}};
  rank_classes.class_of_rank = {0};
  return rank_classes;
}

}  // namespace orrery::simulate
