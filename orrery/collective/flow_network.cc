#include "orrery/collective/flow_network.h"

#include <utility>

namespace orrery::collective {

namespace {

using network::LinkId;
using network::LinkKind;
using network::LinkUse;

constexpr std::uint32_t kUnused = ~std::uint32_t{0};

/// The link bytes per byte. PCIe is part of an island, or of the path to a NIC.
double CostOf(LinkKind kind, bool leaves_island, const WireShares& shares) {
  const bool is_inside =
      kind == LinkKind::kNvlink || (kind != LinkKind::kNetwork && !leaves_island);
  return 1 / (is_inside ? shares.link : shares.network);
}

}  // namespace

FlowNetwork::FlowNetwork(const network::Topology& topology, FlowNetworkOptions options)
    : router_(topology, std::move(options.routing)),
      sprays_(options.sprays),
      place_of_link_(topology.num_links(), kUnused) {}

void FlowNetwork::Use(LinkId link, double amount) {
  std::uint32_t& place = place_of_link_[link];
  if (place == kUnused) {
    place = static_cast<std::uint32_t>(uses_.size());
    uses_.push_back({.link = link, .share = 0});
  }
  uses_[place].share += amount;
}

Status FlowNetwork::AddEdge(const FlowEdge& edge, std::uint64_t label, const WireShares& shares) {
  const network::Topology& graph = topology();
  const bool is_there = edge.from < graph.num_gpus() && edge.to < graph.num_gpus();
  const bool leaves = is_there && graph.island(edge.from) != graph.island(edge.to);
  if (sprays_) {
    ORRERY_TRY(const network::Route route, router_.Spray(edge.from, edge.to));
    for (const LinkUse& use : route.uses) {
      Use(use.link, edge.share * use.share * CostOf(graph.link(use.link).kind, leaves, shares));
    }
    return {};
  }
  path_.clear();
  ORRERY_TRY_STATUS(router_.AppendPath(edge.from, edge.to, label, path_));
  for (const LinkId link : path_) {
    Use(link, edge.share * CostOf(graph.link(link).kind, leaves, shares));
  }
  return {};
}

Result<std::span<const LinkUse>> FlowNetwork::UsesOf(std::span<const FlowEdge> edges,
                                                     std::uint64_t label,
                                                     const WireShares& shares) {
  for (const LinkUse& use : uses_) {
    place_of_link_[use.link] = kUnused;
  }
  uses_.clear();
  for (const FlowEdge& edge : edges) {
    ORRERY_TRY_STATUS(AddEdge(edge, label, shares));
  }
  return std::span<const LinkUse>(uses_);
}

}  // namespace orrery::collective
