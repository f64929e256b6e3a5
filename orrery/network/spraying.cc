#include "orrery/network/spraying.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace orrery::network {
namespace {

struct Amount {
  double share = 0;
  std::int64_t latency_ps = 0;  // largest on the way so far
};

// What has arrived where, in the order of the switches' places, so that sums have one order.
using AmountAt = std::map<std::uint32_t, Amount>;

void Arrive(AmountAt& amounts, std::uint32_t place, const Amount& more) {
  Amount& amount = amounts[place];
  amount.share += more.share;
  amount.latency_ps = std::max(amount.latency_ps, more.latency_ps);
}

class Spraying {
 public:
  Spraying(const Topology& topology, SwitchGraph& graph) : topology_(topology), graph_(graph) {}

  void AddWay(const WayUpAndDown& way, double share) {
    const auto [up, down] = way;
    AmountAt at{{up->place, {.share = share, .latency_ps = Take(*up, share)}}};
    const SwitchGraph::Distances& distances = graph_.DistancesTo(down->place);
    for (std::uint16_t left = distances.From(up->place); left > 0; --left) {
      at = Step(at, distances, left);
    }
    const std::int64_t latency_ps = at.begin()->second.latency_ps + Take(*down, share);
    latency_ps_ = std::max(latency_ps_, latency_ps);
  }

  void AppendTo(Route& route) const {
    for (const auto& [link, share] : share_of_link_) {
      route.uses.push_back({.link = link, .share = share});
    }
    route.latency_ps += latency_ps_;
  }

 private:
  // Uses the links of a way and returns their latency.
  std::int64_t Take(const Attachment& way, double share) {
    std::int64_t latency_ps = 0;
    for (std::uint32_t i = 0; i < way.num_links; ++i) {
      share_of_link_[way.links[i]] += share;
      latency_ps += topology_.link(way.links[i]).latency_ps;
    }
    return latency_ps;
  }

  AmountAt Step(const AmountAt& at, const SwitchGraph::Distances& distances, std::uint16_t left) {
    AmountAt next;
    for (const auto& [place, amount] : at) {
      std::vector<SwitchGraph::Edge> nearer;
      for (const SwitchGraph::Edge& edge : graph_.edges(place)) {
        if (distances.From(edge.place) < left) {
          nearer.push_back(edge);
        }
      }
      const double share = amount.share / static_cast<double>(nearer.size());
      for (const SwitchGraph::Edge& edge : nearer) {
        share_of_link_[edge.link] += share;
        Arrive(next, edge.place,
               {.share = share,
                .latency_ps = amount.latency_ps + topology_.link(edge.link).latency_ps});
      }
    }
    return next;
  }

  const Topology& topology_;
  SwitchGraph& graph_;
  std::map<LinkId, double> share_of_link_;
  std::int64_t latency_ps_ = 0;
};

}  // namespace

void SprayOver(const Topology& topology, SwitchGraph& graph, std::span<const WayUpAndDown> ways,
               Route& route) {
  Spraying spraying(topology, graph);
  for (const WayUpAndDown& way : ways) {
    spraying.AddWay(way, 1.0 / static_cast<double>(ways.size()));
  }
  spraying.AppendTo(route);
}

}  // namespace orrery::network
