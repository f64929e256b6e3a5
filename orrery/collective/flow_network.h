#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/flow_plan.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

/// The shares of link bandwidth that a library reaches.
struct WireShares {
  double link = 1;     // inside islands
  double network = 1;  // of links that leave them, including the path to the NIC

  bool operator==(const WireShares&) const = default;
};

struct FlowNetworkOptions {
  /// NCCL changes rails inside the island.
  network::RoutingOptions routing{.change_rail_in_island = true};
  /// Every flow is spread over all shortest paths, regardless of `routing`.
  bool sprays = false;
};

/// A topology with its routes for collectives. Serves one thread; the topology must outlive it.
class FlowNetwork {
 public:
  explicit FlowNetwork(const network::Topology& topology, FlowNetworkOptions options = {});

  /// Returns the link bytes per byte of a flow: more than 1 where a library reaches only a part of
  /// the bandwidth or edges of the flow share a link. Each link once; valid until the next call.
  [[nodiscard]] Result<std::span<const network::LinkUse>> UsesOf(std::span<const FlowEdge> edges,
                                                                 std::uint64_t label,
                                                                 const WireShares& shares);

  [[nodiscard]] const network::Topology& topology() const { return router_.topology(); }

  [[nodiscard]] network::Router& router() { return router_; }

 private:
  [[nodiscard]] Status AddEdge(const FlowEdge& edge, std::uint64_t label, const WireShares& shares);
  void Use(network::LinkId link, double amount);

  network::Router router_;
  bool sprays_;
  std::vector<network::LinkId> path_;
  std::vector<std::uint32_t> place_of_link_;  // in uses_; kUnused when it has none
  std::vector<network::LinkUse> uses_;
};

}  // namespace orrery::collective
