#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <rapidcheck.h>

#include "orrery/network/flow_simulation.h"
#include "orrery/network/topology.h"

/// Links and flows for properties.
namespace orrery::network {

struct TrafficFlow {
  std::vector<LinkUse> uses;
  FlowSpec spec{};
};

struct Traffic {
  std::vector<double> capacity;
  std::vector<TrafficFlow> flows{};

  [[nodiscard]] std::vector<FlowDemand> Demands() const {
    std::vector<FlowDemand> demands;
    for (const TrafficFlow& flow : flows) {
      demands.push_back({.uses = flow.uses,
                         .weight = flow.spec.weight,
                         .cap_bytes_per_second = flow.spec.cap_bytes_per_second,
                         .multiplicity = flow.spec.multiplicity});
    }
    return demands;
  }
};

/// Distinct links, some with shares.
inline std::vector<LinkUse> AnyUses(std::uint32_t num_links) {
  const auto links = *rc::gen::unique<std::vector<LinkId>>(
      *rc::gen::inRange<std::size_t>(1, std::min<std::size_t>(num_links, 4) + 1),
      rc::gen::inRange<LinkId>(0, num_links));
  const bool is_split = *rc::gen::inRange(0, 4) == 0;
  std::vector<LinkUse> uses;
  for (const LinkId link : links) {
    uses.push_back({.link = link, .share = is_split ? 1.0 / *rc::gen::inRange(1, 5) : 1.0});
  }
  return uses;
}

/// Few links and small numbers, so that flows meet and levels tie.
inline Traffic AnyTraffic(int most_flows = 24) {
  Traffic traffic;
  const auto num_links = *rc::gen::inRange<std::uint32_t>(2, 16);
  for (std::uint32_t link = 0; link < num_links; ++link) {
    traffic.capacity.push_back(1e9 * *rc::gen::inRange(1, 12));
  }
  const int num_flows = *rc::gen::inRange(1, most_flows + 1);
  for (int i = 0; i < num_flows; ++i) {
    TrafficFlow flow{.uses = AnyUses(num_links)};
    flow.spec.bytes = 1e3 * *rc::gen::inRange(0, 100);
    flow.spec.start_ps = std::int64_t{1'000'000} * *rc::gen::inRange(0, 8);
    flow.spec.weight = *rc::gen::element(1.0, 1.0, 2.0, 0.5);
    flow.spec.multiplicity = *rc::gen::element(1.0, 1.0, 3.0);
    flow.spec.cap_bytes_per_second = *rc::gen::element(
        std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 5e8, 2e9);
    traffic.flows.push_back(flow);
  }
  return traffic;
}

}  // namespace orrery::network
