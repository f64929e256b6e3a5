#include "orrery/simulate/network/flow_usage.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/flow/flow_plan.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using collective::Algorithm;
using collective::FlowEdge;
using collective::FlowPlan;
using network::GpuId;
using network::LinkId;
using network::NodeId;
using network::NodeKind;
using network::Topology;
using workload::Direction;

/// The place of a link that limits a transfer.
enum LinkPlace : std::uint8_t {
  kToNic,   // the closed form knows what slots cost
  kIsland,  // of a GPU, inside its island
  kNicOut,
  kNicIn,
  kFabric,  // between switches
};

LinkPlace PlaceOf(const Topology& topology, LinkId id) {
  const network::Link& link = topology.link(id);
  const NodeKind from = topology.kind(link.from);
  const NodeKind to = topology.kind(link.to);
  if (link.kind != network::LinkKind::kNetwork) {
    return from == NodeKind::kNic || to == NodeKind::kNic ? kToNic : kIsland;
  }
  return from != NodeKind::kSwitch ? kNicOut : to != NodeKind::kSwitch ? kNicIn : kFabric;
}

collective::FlowNetworkOptions OptionsOf(const FlowNetworkState& state) {
  return {.routing = {.seed = state.seed,
                      .spray_by_bandwidth = state.routing == Routing::kAdaptive,
                      .change_rail_in_island = true},
          .sprays = state.routing != Routing::kHash};
}

/// An algorithm of the same traffic that has flows.
Algorithm Planned(Algorithm algorithm, CollectiveKind kind, std::size_t islands) {
  const bool is_reduced_by_network =
      algorithm == Algorithm::kCollnetDirect || algorithm == Algorithm::kCollnetChain;
  if (is_reduced_by_network || (algorithm == Algorithm::kNvls && islands > 1)) {
    return kind == CollectiveKind::kAllReduce ? Algorithm::kTree : Algorithm::kRing;
  }
  return algorithm;
}

}  // namespace

FlowUsage::FlowUsage(const RankClasses& rank_classes, CommunicationTimes& times,
                     const Topology& topology, FlowNetworkState state)
    : rank_classes_(rank_classes),
      times_(times),
      state_(std::move(state)),
      network_(topology, OptionsOf(state_)),
      nic_failed_(topology.num_gpus(), 0),
      bytes_of_link_(topology.num_links(), 0) {
  for (LinkId link = 0; link < topology.num_links(); ++link) {
    kind_of_link_.push_back(PlaceOf(topology, link));
    const double works = state_.share_of_link.empty() ? 1 : state_.share_of_link[link];
    const bool is_network = topology.link(link).kind == network::LinkKind::kNetwork;
    capacities_.push_back(works * (is_network ? state_.free_share : 1));
  }
  for (const GpuId gpu : state_.failed_nics) {
    nic_failed_[gpu] = 1;
  }
}

Result<FlowUsage> FlowUsage::Create(const RankClasses& rank_classes, CommunicationTimes& times,
                                    const Topology& topology, FlowNetworkState state) {
  FlowUsage usage(rank_classes, times, topology, std::move(state));
  ORRERY_TRY_STATUS(usage.AddBackground());
  return usage;
}

// Others never take all of a link.
Status FlowUsage::AddBackground() {
  constexpr double kLeastLeft = 0.01;
  for (const BackgroundFlow& flow : state_.background) {
    const FlowEdge edge{.from = flow.from, .to = flow.to};
    ORRERY_TRY(const auto uses, network_.UsesOf({&edge, 1}, 0, {}));
    for (const network::LinkUse& use : uses) {
      const double bandwidth = topology().link(use.link).bandwidth.bytes_per_second;
      double& left = capacities_[use.link];
      left = std::max(left - use.share * flow.bytes_per_second / bandwidth,
                      std::min(left, kLeastLeft));
    }
  }
  return {};
}

std::vector<std::uint8_t> FlowUsage::LosesGoodput() const {
  std::vector<std::uint8_t> loses;
  for (const std::uint8_t place : kind_of_link_) {
    loses.push_back(place >= kNicOut ? 1 : 0);
  }
  return loses;
}

Result<FlowPlan> FlowUsage::PlanOf(GroupClassId group, const workload::Communications::Row& row,
                                   Algorithm algorithm, std::span<const GpuId> gpus) const {
  ORRERY_TRY(const network::Placement placement,
             network::Placement::Create(topology(), {gpus.begin(), gpus.end()}));
  if (row.kind == CollectiveKind::kSendRecv && gpus.size() == 2) {
    FlowPlan plan;
    plan.BeginStage({}, static_cast<double>(row.bytes));
    for (RankClassId rank_class = 0; rank_class < rank_classes_.classes.size(); ++rank_class) {
      for (std::uint32_t role = 0; role < rank_classes_.num_roles; ++role) {
        const Direction direction = rank_classes_.ProgramOf(rank_class).roles.direction[role];
        if (rank_classes_.GroupOf(rank_class, role) == group && direction != Direction::kReceives) {
          const GpuId own =
              rank_classes_.ensemble->gpu_of_rank[rank_classes_.classes[rank_class].rank];
          plan.BeginFlow();
          plan.AddEdge(own, gpus[0] == own ? gpus[1] : gpus[0]);
        }
      }
    }
    return plan;
  }
  return PlanFlows({row.kind, Bytes{row.bytes}, row.element},
                   Planned(algorithm, row.kind, placement.islands().size()), placement);
}

// NCCL sends over the rail of the target. Where its NIC has failed on either side, a rail on which
// both work carries the bytes, and the target's island the last hop.
GpuId FlowUsage::WorkingPeer(GpuId from, GpuId to) const {
  const auto here = topology().island_gpus(topology().island(from));
  const auto there = topology().island_gpus(topology().island(to));
  const std::size_t rail = topology().rail(to);
  for (std::size_t step = 0; step < there.size(); ++step) {
    const std::size_t other = (rail + step) % there.size();
    if (nic_failed_[there[other]] == 0 && (other >= here.size() || nic_failed_[here[other]] == 0)) {
      return there[other];
    }
  }
  return to;
}

void FlowUsage::AddAround(const FlowEdge& edge) {
  const bool leaves = topology().island(edge.from) != topology().island(edge.to);
  if (!leaves || state_.failed_nics.empty()) {
    edges_.push_back(edge);
    return;
  }
  const GpuId over = WorkingPeer(edge.from, edge.to);
  edges_.push_back({.from = edge.from, .to = over, .share = edge.share});
  if (over != edge.to) {
    edges_.push_back({.from = over, .to = edge.to, .share = edge.share});
  }
}

void FlowUsage::Use(LinkId link, double bytes) {
  if (bytes_of_link_[link] == 0) {
    used_links_.push_back(link);
  }
  bytes_of_link_[link] += bytes;
}

// One edge after the other: links of several that meet in a switch are not one path.
Status FlowUsage::AddPairs(std::uint64_t label) {
  for (const FlowEdge& edge : edges_) {
    ORRERY_TRY(const auto path, network_.UsesOf({&edge, 1}, label, {}));
    AddPairsOf(path);
  }
  return {};
}

void FlowUsage::AddPairsOf(std::span<const network::LinkUse> path) {
  links_from_.clear();
  for (const network::LinkUse& use : path) {
    if (kind_of_link_[use.link] >= kNicOut) {
      links_from_.emplace_back(topology().link(use.link).from, use.link);
    }
  }
  std::ranges::sort(links_from_);
  for (const auto& [from, before] : links_from_) {
    const NodeId node = topology().link(before).to;
    for (auto after = std::ranges::lower_bound(links_from_, std::pair(node, LinkId{0}));
         after != links_from_.end() && after->first == node; ++after) {
      pairs_.insert((static_cast<std::uint64_t>(before) << 32) | after->second);
    }
  }
}

Status FlowUsage::AddPlan(const FlowPlan& plan, std::uint64_t label) {
  for (const FlowPlan::Stage& stage : plan.stages()) {
    for (std::uint32_t flow = stage.first_flow; flow < stage.end_flow; ++flow) {
      edges_.clear();
      for (const FlowEdge& edge : plan.edges(flow)) {
        AddAround(edge);
      }
      ORRERY_TRY(const auto uses, network_.UsesOf(edges_, label + flow, {}));
      for (const network::LinkUse& use : uses) {
        Use(use.link, stage.bytes * use.share);
      }
      if (state_.pauses) {
        ORRERY_TRY_STATUS(AddPairs(label + flow));
      }
    }
  }
  return {};
}

// From bytes of the plan to bytes per second, so that GPUs and NICs carry what the closed form
// says: all NICs together as much as all ranks, and none more than it can.
void FlowUsage::Scale(const collective::LinkDemand& demand, double senders) {
  double most_inside = 0;
  double most_out = 0;
  double all_out = 0;
  for (const LinkId link : used_links_) {
    const double bytes = bytes_of_link_[link];
    if (kind_of_link_[link] == kIsland) {
      most_inside = std::max(most_inside, bytes);
    } else if (kind_of_link_[link] == kNicOut || kind_of_link_[link] == kNicIn) {
      most_out = std::max(most_out, bytes);
      all_out += kind_of_link_[link] == kNicOut ? bytes : 0;
    }
  }
  const double link = demand.link_share * demand.link.bytes_per_second;
  const double inside = most_inside > 0 ? link / most_inside : 0;
  const double nic = demand.nic.bytes_per_second;
  const double out =
      all_out > 0 ? std::min(senders * demand.nic_share * nic / all_out, nic / most_out) : 0;
  for (const LinkId id : used_links_) {
    const std::uint8_t place = kind_of_link_[id];
    bytes_of_link_[id] *= place == kToNic ? 0 : place == kIsland ? inside : out;
  }
}

TransferUses FlowUsage::TakeUses() {
  TransferUses uses;
  std::ranges::sort(used_links_);
  for (const LinkId link : used_links_) {
    const double bytes_per_second = std::exchange(bytes_of_link_[link], 0);
    if (bytes_per_second > 0) {
      uses.bytes_per_second = std::max(uses.bytes_per_second, bytes_per_second);
      uses.links.push_back(
          {.link = link,
           .share = bytes_per_second / topology().link(link).bandwidth.bytes_per_second});
    }
  }
  used_links_.clear();
  for (const std::uint64_t pair : pairs_) {
    uses.pairs.push_back(
        {.before = static_cast<LinkId>(pair >> 32), .after = static_cast<LinkId>(pair)});
  }
  std::ranges::sort(uses.pairs);
  pairs_.clear();
  return uses;
}

Result<TransferUses> FlowUsage::UsesOf(GroupClassId group,
                                       const workload::Communications::Row& row) {
  const std::vector<GpuId> gpus = rank_classes_.GpusOf(group);
  ORRERY_TRY(const collective::LinkDemand demand, times_.DemandOf(row, gpus));
  ORRERY_TRY(const FlowPlan plan, PlanOf(group, row, demand.algorithm, gpus));
  ORRERY_TRY_STATUS(AddPlan(plan, (static_cast<std::uint64_t>(group) + 1) << 20));
  const bool is_one_way = row.kind == CollectiveKind::kSendRecv && gpus.size() == 2;
  Scale(demand, static_cast<double>(is_one_way ? plan.num_flows() : gpus.size()));
  return TakeUses();
}

void FlowUsage::FindHeights() {
  constexpr std::uint32_t kUnknown = 0xFFFFFFFF;
  height_of_node_.assign(topology().num_nodes(), kUnknown);
  std::vector<NodeId> queue;
  for (const network::Link& link : topology().links()) {
    if (link.kind == network::LinkKind::kNetwork &&
        topology().kind(link.from) != NodeKind::kSwitch && height_of_node_[link.from] != 0) {
      height_of_node_[link.from] = 0;
      queue.push_back(link.from);
    }
  }
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const LinkId link : topology().out_links(queue[next])) {
      const NodeId to = topology().link(link).to;
      if (topology().link(link).kind == network::LinkKind::kNetwork &&
          height_of_node_[to] == kUnknown) {
        height_of_node_[to] = height_of_node_[queue[next]] + 1;
        queue.push_back(to);
      }
    }
  }
}

// By bandwidth, as long as there is a cable that leads further up.
void FlowUsage::AddUp(NodeId node, double bytes) {
  const auto is_up = [&](LinkId link) {
    return kind_of_link_[link] == kFabric &&
           height_of_node_[topology().link(link).to] == height_of_node_[node] + 1;
  };
  double bandwidth = 0;
  for (const LinkId link : topology().out_links(node)) {
    bandwidth += is_up(link) ? topology().link(link).bandwidth.bytes_per_second : 0;
  }
  for (const LinkId link : topology().out_links(node)) {
    if (is_up(link)) {
      const double part = bytes * topology().link(link).bandwidth.bytes_per_second / bandwidth;
      Use(link, part);
      AddUp(topology().link(link).to, part);
    }
  }
}

// A NIC is the one that leads to the same rail of another island.
Result<TransferUses> FlowUsage::UsesToStorage(RankClassId rank_class, Bandwidth rate) {
  if (height_of_node_.empty()) {
    FindHeights();
  }
  const GpuId gpu = rank_classes_.ensemble->gpu_of_rank[rank_classes_.classes[rank_class].rank];
  const network::IslandId island = topology().island(gpu);
  const auto others = topology().island_gpus((island + 1) % topology().num_islands());
  edges_.clear();
  AddAround(
      {.from = gpu, .to = others[std::min<std::size_t>(topology().rail(gpu), others.size() - 1)]});
  const FlowEdge out = edges_.front();
  ORRERY_TRY(const auto uses, network_.UsesOf({&out, 1}, gpu, {}));
  std::vector<network::LinkUse> nics(uses.begin(), uses.end());
  std::erase_if(nics, [&](const network::LinkUse& use) {
    return kind_of_link_[use.link] != kNicOut || height_of_node_[topology().link(use.link).to] != 1;
  });
  for (const network::LinkUse& nic : nics) {
    Use(nic.link, nic.share * rate.bytes_per_second);
    AddUp(topology().link(nic.link).to, nic.share * rate.bytes_per_second);
  }
  if (state_.pauses) {
    nics.clear();
    for (const LinkId link : used_links_) {
      nics.push_back({.link = link});
    }
    AddPairsOf(nics);
  }
  TransferUses result = TakeUses();
  result.bytes_per_second = rate.bytes_per_second;
  return result;
}

}  // namespace orrery::simulate
