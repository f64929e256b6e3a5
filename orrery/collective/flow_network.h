#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/flow_plan.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

/// What a library reaches of the bandwidth of links.
struct WireShares {
  double link = 1;     // inside islands
  double network = 1;  // of what leaves them, the candidate to the NIC included

  bool operator==(const WireShares&) const = default;
};

struct FlowNetworkOptions {
  /// NCCL changes rails inside the island.
  network::RoutingOptions routing{.change_rail_in_island = true};
  /// Every flow goes over all shortest paths at once, whatever `routing` would choose.
  bool sprays = false;
};

/// A topology and how collectives cross it. Serves one thread; the topology must outlive it.
class FlowNetwork {
 public:
  explicit FlowNetwork(const network::Topology& topology, FlowNetworkOptions options = {});

  /// Returns what a flow takes of links for each byte: more than 1 where a library reaches a part
  /// of the bandwidth, and where edges of the flow meet. Each link once; valid until the next call.
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
