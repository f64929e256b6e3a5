#include "orrery/simulate/network/port_usage.h"

#include <algorithm>
#include <array>
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
#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/base/units.h"
#include "orrery/collective/cluster_topology.h"
#include "orrery/collective/cost_model.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using network::GpuId;
using network::NodeId;
using network::Topology;
using workload::Direction;

/// Links of a rank class.
enum Port : std::uint32_t { kLinkOut, kLinkIn, kNicOut, kNicIn, kNumPorts };

constexpr std::uint32_t kNoLeaf = 0xFFFFFFFF;

bool Sends(Direction direction) {
  return direction != Direction::kReceives;
}

bool Receives(Direction direction) {
  return direction != Direction::kSends;
}

/// The first switch outside the island of a GPU; none where all GPUs are in one island.
std::optional<NodeId> FirstSwitch(const Topology& topology, GpuId gpu) {
  NodeId node = topology.gpu_node(gpu);
  for (const network::LinkId link : topology.out_links(node)) {
    const NodeId next = topology.link(link).to;
    if (topology.kind(next) == network::NodeKind::kNic) {
      node = next;
      break;
    }
  }
  for (const network::LinkId link : topology.out_links(node)) {
    if (topology.link(link).kind == network::LinkKind::kNetwork) {
      return topology.link(link).to;
    }
  }
  return std::nullopt;
}

double UplinksOf(const Topology& topology, NodeId leaf) {
  double bytes_per_second = 0;
  for (const network::LinkId link : topology.out_links(leaf)) {
    if (topology.kind(topology.link(link).to) == network::NodeKind::kSwitch) {
      bytes_per_second += topology.link(link).bandwidth.bytes_per_second;
    }
  }
  return bytes_per_second;
}

// Leaves the map as it is where a GPU has no switch with others above it: what joins all GPUs, an
// island or one switch, has no cables up that could be too few.
void AddLeavesOf(const Topology& topology, double nic, PortMap& ports) {
  std::map<NodeId, std::uint32_t> number_of_leaf;
  std::vector<std::uint32_t> leaf_of_gpu;
  std::vector<double> nics_of_uplinks;
  for (GpuId gpu = 0; gpu < topology.num_gpus(); ++gpu) {
    const std::optional<NodeId> leaf = FirstSwitch(topology, gpu);
    const double uplinks = leaf ? UplinksOf(topology, *leaf) : 0;
    if (!(uplinks > 0)) {
      return;
    }
    const auto [found, is_new] =
        number_of_leaf.emplace(*leaf, static_cast<std::uint32_t>(number_of_leaf.size()));
    if (is_new) {
      nics_of_uplinks.push_back(uplinks / nic);
    }
    leaf_of_gpu.push_back(found->second);
  }
  ports.leaf_of_gpu = std::move(leaf_of_gpu);
  ports.nics_of_uplinks = std::move(nics_of_uplinks);
}

/// The member at the same place of the next island; itself where there is none.
std::size_t NextOnRail(std::span<const GpuId> gpus, std::size_t member, std::uint32_t island) {
  for (std::size_t step = 1; step < gpus.size(); ++step) {
    const std::size_t other = (member + step) % gpus.size();
    if (gpus[other] / island != gpus[member] / island &&
        gpus[other] % island == gpus[member] % island) {
      return other;
    }
  }
  return member;
}

}  // namespace

Result<PortMap> PortMapOf(const hardware::Cluster& cluster, int nodes, double free_share) {
  PortMap ports;
  ports.gpus_per_island = static_cast<std::uint32_t>(std::max(cluster.island.gpus, 1));
  ports.gpus_per_node = static_cast<std::uint32_t>(std::max(cluster.gpus_per_node, 1));
  ports.nics_per_node = static_cast<std::uint32_t>(
      std::clamp(cluster.nics.per_node, 1, std::max(cluster.gpus_per_node, 1)));
  ports.free_share = free_share;
  ports.nic = {cluster.nics.bandwidth.bytes_per_second * cluster.nics.per_node /
               static_cast<double>(ports.nics_per_node)};
  if (cluster.fabric.oversubscription > 1 && nodes > 1) {
    ORRERY_TRY(const Topology topology, collective::TopologyOf(cluster, nodes));
    AddLeavesOf(topology, ports.nic.bytes_per_second, ports);
  }
  return ports;
}

bool HasUplinks(hardware::Cluster cluster, int gpus, double oversubscription) {
  cluster.fabric.oversubscription = oversubscription;
  const int size = std::max(cluster.gpus_per_node, 1);
  const Result<PortMap> ports = PortMapOf(cluster, (gpus + size - 1) / size, 1);
  return !ports || !ports->leaf_of_gpu.empty();
}

std::vector<std::vector<std::uint32_t>> SharedPlaces(const PortMap& ports,
                                                     const workload::Ensemble& ensemble) {
  std::vector<std::vector<std::uint32_t>> places;
  if (ports.has_shared_nics()) {
    std::vector<std::uint32_t>& nics = places.emplace_back();
    for (const GpuId gpu : ensemble.gpu_of_rank) {
      nics.push_back(ports.NicOf(gpu));
    }
  }
  if (!ports.leaf_of_gpu.empty()) {
    std::vector<std::uint32_t>& leaves = places.emplace_back();
    for (const GpuId gpu : ensemble.gpu_of_rank) {
      leaves.push_back(ports.leaf_of_gpu[gpu]);
    }
  }
  return places;
}

std::uint64_t LeafLinkClass::Of(std::span<const GpuId> gpus) const {
  std::uint64_t bits = placement_.Of(gpus);
  if (ports_.leaf_of_gpu.empty()) {
    return bits;
  }
  std::map<std::uint32_t, std::uint32_t> number_of_leaf;
  for (const GpuId gpu : gpus) {
    const auto [found, is_new] = number_of_leaf.emplace(
        ports_.leaf_of_gpu[gpu], static_cast<std::uint32_t>(number_of_leaf.size()));
    bits = MixBits(bits + found->second + 0x9e3779b97f4a7c15);
  }
  return bits;
}

PortUsage::PortUsage(const RankClasses& rank_classes, CommunicationTimes& times,
                     const PortMap& ports)
    : rank_classes_(rank_classes), times_(times), ports_(ports) {
  FindMembers();
  FindMates();
  FindLeaves();
  share_of_link_.assign(rank_classes_.classes.size() * kNumPorts + 2 * leaves_.size(), 0);
}

void PortUsage::FindMembers() {
  members_.resize(rank_classes_.groups.size());
  for (RankClassId rank_class = 0; rank_class < rank_classes_.classes.size(); ++rank_class) {
    const workload::Program& program = rank_classes_.ProgramOf(rank_class);
    for (std::uint32_t role = 0; role < rank_classes_.num_roles; ++role) {
      const GroupClassId group = rank_classes_.GroupOf(rank_class, role);
      if (group != workload::kNoGroup) {
        members_[group].push_back({rank_class, program.roles.direction[role]});
      }
    }
  }
}

// Ranks of which classes are on the NIC of the rank that stands for a class.
void PortUsage::FindMates() {
  mates_.resize(rank_classes_.classes.size());
  if (!ports_.has_shared_nics()) {
    for (RankClassId rank_class = 0; rank_class < mates_.size(); ++rank_class) {
      mates_[rank_class].push_back({.owner = rank_class, .ranks = 1});
    }
    return;
  }
  const workload::Ensemble& ensemble = *rank_classes_.ensemble;
  std::map<std::uint32_t, std::map<RankClassId, double>> classes_of_nic;
  for (workload::Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    ++classes_of_nic[ports_.NicOf(ensemble.gpu_of_rank[rank])][rank_classes_.class_of_rank[rank]];
  }
  for (RankClassId owner = 0; owner < mates_.size(); ++owner) {
    const GpuId gpu = ensemble.gpu_of_rank[rank_classes_.classes[owner].rank];
    for (const auto& [rank_class, ranks] : classes_of_nic[ports_.NicOf(gpu)]) {
      mates_[rank_class].push_back({.owner = owner, .ranks = ranks});
    }
  }
}

void PortUsage::FindLeaves() {
  if (ports_.leaf_of_gpu.empty()) {
    return;
  }
  place_of_leaf_.assign(ports_.nics_of_uplinks.size(), kNoLeaf);
  for (const RankClass& rank_class : rank_classes_.classes) {
    const std::uint32_t leaf =
        ports_.leaf_of_gpu[rank_classes_.ensemble->gpu_of_rank[rank_class.rank]];
    if (place_of_leaf_[leaf] == kNoLeaf) {
      place_of_leaf_[leaf] = static_cast<std::uint32_t>(leaves_.size());
      leaves_.push_back(leaf);
    }
  }
}

std::vector<double> PortUsage::Capacities() const {
  std::vector<double> capacities;
  for (std::size_t rank_class = 0; rank_class < rank_classes_.classes.size(); ++rank_class) {
    capacities.insert(capacities.end(), {1, 1, ports_.free_share, ports_.free_share});
  }
  capacities.insert(capacities.end(), 2 * leaves_.size(), ports_.free_share);
  return capacities;
}

std::string PortUsage::NameOf(network::LinkId link) const {
  constexpr std::array<std::string_view, kNumPorts> kNames = {"link out", "link in", "NIC out",
                                                              "NIC in"};
  const std::size_t rank_class = link / kNumPorts;
  if (rank_class < rank_classes_.classes.size()) {
    const RankClass& ranks = rank_classes_.classes[rank_class];
    return fmt::format(
        "{} of rank {}{}", kNames.at(link % kNumPorts), ranks.rank,
        ranks.multiplicity > 1 ? fmt::format(" and {} others", ranks.multiplicity - 1) : "");
  }
  const std::size_t place = link - rank_classes_.classes.size() * kNumPorts;
  return fmt::format("{} switch {}", place % 2 == 0 ? "up from" : "down to", leaves_[place / 2]);
}

void PortUsage::Use(std::uint32_t link, double share) {
  if (share_of_link_[link] == 0 && share > 0) {
    used_links_.push_back(link);
  }
  share_of_link_[link] += share;
}

void PortUsage::AddPorts(const Member& member, double link_share, double nic_share) {
  const std::uint32_t first = member.rank_class * kNumPorts;
  Use(first + kLinkOut, Sends(member.direction) ? link_share : 0);
  Use(first + kLinkIn, Receives(member.direction) ? link_share : 0);
  for (const Mates& mates : mates_[member.rank_class]) {
    const std::uint32_t nic = mates.owner * kNumPorts;
    Use(nic + kNicOut, Sends(member.direction) ? nic_share * mates.ranks : 0);
    Use(nic + kNicIn, Receives(member.direction) ? nic_share * mates.ranks : 0);
  }
}

Result<TransferUses> PortUsage::UsesOf(GroupClassId group,
                                       const workload::Communications::Row& row) {
  const std::vector<GpuId> gpus = rank_classes_.GpusOf(group);
  ORRERY_TRY(const collective::LinkDemand demand, times_.DemandOf(row, gpus));
  for (const Member& member : members_[group]) {
    AddPorts(member, demand.link_share, demand.nic_share);
  }
  if (!leaves_.empty() && demand.nic_share > 0) {
    const bool is_message = row.kind == CollectiveKind::kSendRecv;
    AddLeaves(group,
              row.kind == CollectiveKind::kAllToAll ? Pattern::kAll
              : is_message                          ? Pattern::kMessages
                                                    : Pattern::kRings,
              demand.nic_share);
  }
  TransferUses uses;
  uses.bytes_per_second = std::max(demand.link_share * demand.link.bytes_per_second,
                                   demand.nic_share * demand.nic.bytes_per_second);
  uses.links = TakeUses();
  return uses;
}

std::vector<network::LinkUse> PortUsage::TakeUses() {
  std::vector<network::LinkUse> uses;
  std::ranges::sort(used_links_);
  for (const std::uint32_t link : used_links_) {
    uses.push_back({.link = link, .share = std::exchange(share_of_link_[link], 0)});
  }
  used_links_.clear();
  return uses;
}

Result<TransferUses> PortUsage::UsesToStorage(RankClassId rank_class, Bandwidth rate) {
  const double nic_share = rate.bytes_per_second / ports_.nic.bytes_per_second;
  AddPorts({.rank_class = rank_class, .direction = Direction::kSends}, 0, nic_share);
  const workload::Ensemble& ensemble = *rank_classes_.ensemble;
  const auto first = static_cast<std::uint32_t>(rank_classes_.classes.size()) * kNumPorts;
  for (workload::Rank rank = 0; rank < ensemble.num_ranks() && !leaves_.empty(); ++rank) {
    const std::uint32_t leaf = ports_.leaf_of_gpu[ensemble.gpu_of_rank[rank]];
    if (rank_classes_.class_of_rank[rank] == rank_class && place_of_leaf_[leaf] != kNoLeaf) {
      Use(first + 2 * place_of_leaf_[leaf], nic_share / ports_.nics_of_uplinks[leaf]);
    }
  }
  return TransferUses{.links = TakeUses(), .bytes_per_second = rate.bytes_per_second};
}

void PortUsage::AddLeaves(GroupClassId group, Pattern pattern, double nic_share) {
  const auto first = static_cast<std::uint32_t>(rank_classes_.classes.size()) * kNumPorts;
  for (const LeafLoad& load : LeafLoadsOf(group, pattern)) {
    const double uplinks = ports_.nics_of_uplinks[leaves_[load.leaf]];
    Use(first + 2 * load.leaf, load.up * nic_share / uplinks);
    Use(first + 2 * load.leaf + 1, load.down * nic_share / uplinks);
  }
}

const std::vector<PortUsage::LeafLoad>& PortUsage::LeafLoadsOf(GroupClassId group,
                                                               Pattern pattern) {
  const std::uint64_t key =
      4 * static_cast<std::uint64_t>(group) + static_cast<std::uint64_t>(pattern);
  const auto known = loads_of_group_.find(key);
  if (known != loads_of_group_.end()) {
    return known->second;
  }
  return loads_of_group_.emplace(key, CountLeafLoads(group, pattern)).first->second;
}

// To another rail a GPU sends over its island first, as NCCL does.
void PortUsage::AddPath(GpuId from, GpuId to, double share, std::vector<LeafLoad>& loads) const {
  const std::uint32_t island = ports_.gpus_per_island;
  if (from / island == to / island) {
    return;
  }
  const std::uint32_t up = ports_.leaf_of_gpu[from / island * island + to % island];
  const std::uint32_t down = ports_.leaf_of_gpu[to];
  if (up == down) {
    return;
  }
  if (place_of_leaf_[up] != kNoLeaf) {
    loads[place_of_leaf_[up]].up += share;
  }
  if (place_of_leaf_[down] != kNoLeaf) {
    loads[place_of_leaf_[down]].down += share;
  }
}

void PortUsage::AddGroup(std::span<const GpuId> gpus, Pattern pattern,
                         std::vector<LeafLoad>& loads) const {
  const std::uint32_t island = ports_.gpus_per_island;
  for (std::size_t member = 0; member < gpus.size(); ++member) {
    if (pattern == Pattern::kMessages) {
      AddPath(gpus[member], gpus[(member + 1) % gpus.size()], 1, loads);
    } else if (pattern == Pattern::kRings) {
      AddPath(gpus[member], gpus[NextOnRail(gpus, member, island)], 1, loads);
    } else {
      const auto near = std::ranges::count_if(
          gpus, [&](GpuId gpu) { return gpu / island == gpus[member] / island; });
      const double share = 1.0 / static_cast<double>(std::max<std::ptrdiff_t>(
                                     1, static_cast<std::ptrdiff_t>(gpus.size()) - near));
      for (const GpuId other : gpus) {
        AddPath(gpus[member], other, share, loads);
      }
    }
  }
}

// Looks at all groups of the class.
std::vector<PortUsage::LeafLoad> PortUsage::CountLeafLoads(GroupClassId group,
                                                           Pattern pattern) const {
  const workload::Ensemble& ensemble = *rank_classes_.ensemble;
  std::vector<LeafLoad> loads(leaves_.size());
  for (std::uint32_t leaf = 0; leaf < loads.size(); ++leaf) {
    loads[leaf].leaf = leaf;
  }
  std::vector<bool> is_done(ensemble.num_groups(), false);
  std::vector<GpuId> gpus;
  for (workload::Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    for (std::uint32_t role = 0; role < rank_classes_.num_roles; ++role) {
      const workload::GroupId real = ensemble.GroupOf(rank, role);
      if (real == workload::kNoGroup || is_done[real] ||
          rank_classes_.GroupOf(rank_classes_.class_of_rank[rank], role) != group) {
        continue;
      }
      is_done[real] = true;
      gpus.clear();
      for (const workload::Rank member : ensemble.Members(real)) {
        gpus.push_back(ensemble.gpu_of_rank[member]);
      }
      // A message with a direction goes from the rank that sends to the other one.
      const Direction direction = members_[group].front().direction;
      if (direction == Direction::kBoth || gpus.size() != 2) {
        AddGroup(gpus, pattern, loads);
        continue;
      }
      const RankClassId own_class = rank_classes_.class_of_rank[rank];
      const bool is_sender = Sends(rank_classes_.ProgramOf(own_class).roles.direction[role]);
      const GpuId own = ensemble.gpu_of_rank[rank];
      const GpuId other = gpus[0] == own ? gpus[1] : gpus[0];
      AddPath(is_sender ? own : other, is_sender ? other : own, 1, loads);
    }
  }
  std::erase_if(loads, [](const LeafLoad& load) { return load.up == 0 && load.down == 0; });
  return loads;
}

}  // namespace orrery::simulate
