#include "orrery/collective/flow/flow_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {
namespace {

using network::GpuId;

constexpr Bytes kBarrier{8};
using Groups = std::vector<std::vector<GpuId>>;

Groups GroupsOf(const network::Placement& placement) {
  Groups groups;
  for (const network::IslandRanks& island : placement.islands()) {
    std::vector<GpuId>& gpus = groups.emplace_back();
    for (const std::uint32_t rank : island.ranks) {
      gpus.push_back(placement.gpu(rank));
    }
    std::ranges::sort(gpus);
  }
  return groups;
}

std::size_t LeastSize(const Groups& groups) {
  return std::ranges::min(groups, {}, &std::vector<GpuId>::size).size();
}

/// The GPU at which channel `channel` of `channels` enters a group.
std::size_t Entry(std::size_t channel, std::size_t channels, std::size_t size) {
  return channel * size / channels;
}

class Planner {
 public:
  Planner(const Request& request, Algorithm algorithm, const network::Placement& placement)
      : kind_(request.kind),
        bytes_(static_cast<double>(
            (kind_ == CollectiveKind::kBarrier ? kBarrier : request.size).count)),
        algorithm_(algorithm),
        ranks_(placement.gpus()),
        groups_(GroupsOf(placement)) {}

  Result<FlowPlan> Plan(const FlowPlanOptions& options) {
    if (ranks_.size() == 1) {
      plan_.BeginStage({}, 0);
      return std::move(plan_);
    }
    ORRERY_TRY_STATUS(Check());
    switch (algorithm_) {
      case Algorithm::kTree:
        PlanTrees();
        break;
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        PlanSwitch();
        break;
      case Algorithm::kPat:
        PlanPat();
        break;
      case Algorithm::kHierarchical:
        PlanHierarchical();
        break;
      case Algorithm::kDirect:
        PlanDirect(options.all_to_all);
        break;
      default:
        PlanRings();
    }
    return std::move(plan_);
  }

 private:
  bool IsAllReduce() const {
    return kind_ == CollectiveKind::kAllReduce || kind_ == CollectiveKind::kBarrier;
  }

  bool HasRoot() const {
    return kind_ == CollectiveKind::kBroadcast || kind_ == CollectiveKind::kReduce;
  }

  bool IsOneSided() const {
    return kind_ == CollectiveKind::kAllGather || kind_ == CollectiveKind::kReduceScatter;
  }

  bool Fits() const {
    switch (algorithm_) {
      case Algorithm::kRing:
        return IsAllReduce() || IsOneSided() || HasRoot();
      case Algorithm::kTree:
      case Algorithm::kNvlsTree:
        return IsAllReduce();
      case Algorithm::kNvls:
      case Algorithm::kHierarchical:
        return IsAllReduce() || IsOneSided();
      case Algorithm::kPat:
        return IsOneSided();
      case Algorithm::kDirect:
        return kind_ == CollectiveKind::kAllToAll || kind_ == CollectiveKind::kSendRecv;
      default:
        return false;
    }
  }

  Status Check() const {
    if (!Fits()) {
      return Fail(Error::Kind::kUnsupported,
                  fmt::format("{} by {} has no flows: it is none of its algorithms, or the network "
                              "would have to reduce",
                              CollectiveKindName(kind_), Name(algorithm_)));
    }
    if (algorithm_ == Algorithm::kNvls && groups_.size() > 1) {
      return Fail(Error::Kind::kUnsupported,
                  fmt::format("NVLS over {} islands needs a network that reduces; use NVLSTree",
                              groups_.size()));
    }
    const auto most = std::ranges::max(groups_, {}, &std::vector<GpuId>::size).size();
    if (algorithm_ == Algorithm::kHierarchical && most != LeastSize(groups_)) {
      return Fail(Error::Kind::kUnsupported,
                  fmt::format("{} needs as many ranks in every island", Name(algorithm_)));
    }
    return {};
  }

  Hops HopsOf() const {
    Fabric fabric;
    fabric.ranks = static_cast<int>(ranks_.size());
    fabric.nodes = static_cast<int>(groups_.size());
    fabric.ranks_per_node = fabric.ranks / fabric.nodes;
    const Shape shape = ShapeOf(fabric, kind_, algorithm_);
    return {.intra = shape.intra_steps, .inter = shape.inter_steps};
  }

  /// Bytes that each of `count` ranks sends along a ring.
  double RingBytes(double bytes, std::size_t count) const {
    const auto n = static_cast<double>(count);
    return HasRoot() ? bytes : (IsAllReduce() ? 2 : 1) * bytes * (n - 1) / n;
  }

  /// Returns the GPU of each island at which a channel enters: all on one rail if there are as many
  /// channels as ranks per island.
  std::vector<GpuId> Heads(std::size_t channel, std::size_t channels) const {
    std::vector<GpuId> heads;
    for (const std::vector<GpuId>& group : groups_) {
      heads.push_back(group[Entry(channel, channels, group.size())]);
    }
    return heads;
  }

  std::vector<GpuId> RingOrder(std::size_t channel, std::size_t channels) const {
    std::vector<GpuId> order;
    for (const std::vector<GpuId>& group : groups_) {
      const std::size_t entry = Entry(channel, channels, group.size());
      for (std::size_t i = 0; i < group.size(); ++i) {
        order.push_back(group[(entry + i) % group.size()]);
      }
    }
    return order;
  }

  void AddCycle(std::span<const GpuId> order, double share = 1) {
    for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i) {
      plan_.AddEdge(order[i], order[(i + 1) % order.size()], share);
    }
  }

  /// From the root through all others, or in reverse: a ring without the edge to the root.
  void AddChain(std::vector<GpuId> order) {
    std::ranges::rotate(order, std::ranges::find(order, ranks_.front()));
    for (std::size_t i = 1; i < order.size(); ++i) {
      const bool outward = kind_ == CollectiveKind::kBroadcast;
      plan_.AddEdge(outward ? order[i - 1] : order[i], outward ? order[i] : order[i - 1]);
    }
  }

  void PlanRings() {
    const std::size_t channels = groups_.size() == 1 ? 1 : LeastSize(groups_);
    plan_.BeginStage(HopsOf(), RingBytes(bytes_, ranks_.size()) / static_cast<double>(channels));
    for (std::size_t channel = 0; channel < channels; ++channel) {
      plan_.BeginFlow();
      HasRoot() ? AddChain(RingOrder(channel, channels)) : AddCycle(RingOrder(channel, channels));
    }
  }

  /// Both directions: sums go up while results come down.
  void AddBothWays(GpuId one, GpuId other, double share = 1) {
    plan_.AddEdge(one, other, share);
    plan_.AddEdge(other, one, share);
  }

  /// One of the two trees that share the work: an inner node of one is a leaf of the other.
  void AddTree(std::span<const GpuId> nodes, bool is_second, double share = 1) {
    const auto count = static_cast<std::uint32_t>(nodes.size());
    for (std::uint32_t node = 0; node < count; ++node) {
      const auto parent = is_second ? SecondTreeParent(node, count) : TreeParent(node, count);
      if (parent) {
        AddBothWays(nodes[node], nodes[*parent], share);
      }
    }
  }

  /// A chain through every island, with a tree over the first GPUs of the chains.
  void PlanTrees() {
    const std::size_t channels = LeastSize(groups_);
    plan_.BeginStage(HopsOf(), bytes_ / (2 * static_cast<double>(channels)));
    for (std::size_t channel = 0; channel < 2 * channels; ++channel) {
      plan_.BeginFlow();
      for (const std::vector<GpuId>& group : groups_) {
        const std::size_t entry = Entry(channel / 2, channels, group.size());
        for (std::size_t i = 1; i < group.size(); ++i) {
          AddBothWays(group[(entry + i - 1) % group.size()], group[(entry + i) % group.size()]);
        }
      }
      AddTree(Heads(channel / 2, channels), channel % 2 == 1);
    }
  }

  /// With an NVSwitch every GPU sends and receives S (n + 1) / n: all its data is pulled or pushed,
  /// and its own part once more. Trees connect the islands, two for each GPU.
  void PlanSwitch() {
    plan_.BeginStage(HopsOf(), bytes_);
    plan_.BeginFlow();
    for (const std::vector<GpuId>& group : groups_) {
      const auto size = static_cast<double>(group.size());
      AddCycle(group, (IsAllReduce() ? size + 1 : size - 1) / size);
    }
    const std::size_t channels = groups_.size() == 1 ? 0 : LeastSize(groups_);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      AddTree(Heads(channel, channels), false, 0.5 / static_cast<double>(channels));
      AddTree(Heads(channel, channels), true, 0.5 / static_cast<double>(channels));
    }
  }

  /// Distances double; a rank sends all data that the other lacks.
  void PlanPat() {
    const std::size_t count = ranks_.size();
    for (std::size_t distance = 1; distance < count; distance *= 2) {
      const auto parts = static_cast<double>(std::min(distance, count - distance));
      plan_.BeginStage({.inter = 1}, bytes_ * parts / static_cast<double>(count));
      for (std::size_t rank = 0; rank < count; ++rank) {
        plan_.BeginFlow();
        plan_.AddEdge(ranks_[rank], ranks_[(rank + distance) % count]);
      }
    }
  }

  /// One pass inside all islands: half of an all-reduce.
  void PlanInIslands() {
    const auto size = static_cast<double>(groups_.front().size());
    if (size < 2) {
      return;
    }
    plan_.BeginStage({.intra = size - 1}, bytes_ * (size - 1) / size);
    for (const std::vector<GpuId>& group : groups_) {
      plan_.BeginFlow();
      AddCycle(group);
    }
  }

  void PlanAlongRails() {
    const std::size_t rails = groups_.front().size();
    const std::size_t count = groups_.size();
    if (count < 2) {
      return;
    }
    const double passes = IsAllReduce() ? 2 : 1;
    plan_.BeginStage({.inter = passes * static_cast<double>(count - 1)},
                     RingBytes(bytes_ / static_cast<double>(rails), count));
    for (std::size_t rail = 0; rail < rails; ++rail) {
      plan_.BeginFlow();
      AddCycle(Heads(rail, rails));
    }
  }

  void PlanHierarchical() {
    if (kind_ != CollectiveKind::kAllGather) {
      PlanInIslands();
    }
    PlanAlongRails();
    if (kind_ != CollectiveKind::kReduceScatter) {
      PlanInIslands();
    }
  }

  void AddRound(std::size_t distance) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      plan_.BeginFlow();
      plan_.AddEdge(ranks_[rank], ranks_[(rank + distance) % ranks_.size()]);
    }
  }

  void PlanDirect(AllToAllOrder order) {
    if (kind_ == CollectiveKind::kSendRecv) {
      plan_.BeginStage(HopsOf(), bytes_);
      AddRound(1);
      return;
    }
    const double part = bytes_ / static_cast<double>(ranks_.size());
    if (order == AllToAllOrder::kAtOnce) {
      plan_.BeginStage(HopsOf(), part);
    }
    const bool leaves = groups_.size() > 1;
    for (std::size_t distance = 1; distance < ranks_.size(); ++distance) {
      if (order == AllToAllOrder::kInRounds) {
        plan_.BeginStage({.intra = leaves ? 0.0 : 1.0, .inter = leaves ? 1.0 : 0.0}, part);
      }
      AddRound(distance);
    }
  }

  CollectiveKind kind_;
  double bytes_;
  Algorithm algorithm_;
  std::span<const GpuId> ranks_;
  Groups groups_;
  FlowPlan plan_;
};

}  // namespace

void FlowPlan::BeginStage(const Hops& hops, double bytes) {
  const auto flow = static_cast<std::uint32_t>(num_flows());
  stages_.push_back({.hops = hops, .bytes = bytes, .first_flow = flow, .end_flow = flow});
}

void FlowPlan::BeginFlow() {
  first_edge_of_flow_.push_back(static_cast<std::uint32_t>(edges_.size()));
  stages_.back().end_flow = static_cast<std::uint32_t>(num_flows());
}

void FlowPlan::AddEdge(GpuId from, GpuId to, double share) {
  edges_.push_back({.from = from, .to = to, .share = share});
}

std::span<const FlowEdge> FlowPlan::edges(std::uint32_t flow) const {
  const std::size_t begin = first_edge_of_flow_[flow];
  const std::size_t end =
      flow + 1 < first_edge_of_flow_.size() ? first_edge_of_flow_[flow + 1] : edges_.size();
  return std::span(edges_).subspan(begin, end - begin);
}

Result<FlowPlan> PlanFlows(const Request& request, Algorithm algorithm,
                           const network::Placement& placement, const FlowPlanOptions& options) {
  return Planner(request, algorithm, placement).Plan(options);
}

std::optional<std::uint32_t> TreeParent(std::uint32_t node, std::uint32_t count) {
  if (node == 0) {
    return std::nullopt;
  }
  const std::uint32_t lowest = node & (~node + 1);
  const std::uint32_t above = (node ^ lowest) | (lowest << 1);
  // In a tree that is not full, the left node replaces the missing right one.
  return above < count ? above : node ^ lowest;
}

std::optional<std::uint32_t> SecondTreeParent(std::uint32_t node, std::uint32_t count) {
  const bool is_even = count % 2 == 0;
  const std::uint32_t image = is_even ? count - 1 - node : (node + count - 1) % count;
  const std::optional<std::uint32_t> parent = TreeParent(image, count);
  if (!parent) {
    return std::nullopt;
  }
  return is_even ? count - 1 - *parent : (*parent + 1) % count;
}

}  // namespace orrery::collective
