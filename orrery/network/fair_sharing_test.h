#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "orrery/network/topology.h"

namespace orrery::network {
namespace fair_sharing {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Links within this share of the least level are full at the same moment.
inline constexpr double kSameLevel = 1 + 1e-13;

struct OpenLink {
  double rest = 0;
  double weight = 0;  // of the flows that are not frozen
  std::size_t open_flows = 0;
};

class Filling {
 public:
  Filling(std::span<const double> capacity, std::span<const FlowDemand> flows)
      : flows_(flows), rate_(flows.size(), 0), frozen_(flows.size(), false) {
    for (const double bytes_per_second : capacity) {
      links_.push_back({.rest = bytes_per_second});
    }
    for (const FlowDemand& flow : flows) {
      for (const LinkUse& use : flow.uses) {
        OpenLink& link = links_[use.link];
        link.weight += flow.weight * flow.multiplicity * use.share;
        ++link.open_flows;
      }
    }
  }

  std::vector<double> Run() && {
    for (std::size_t left = flows_.size(); left > 0;) {
      left -= FreezeAt(LeastLevel());
    }
    return std::move(rate_);
  }

 private:
  static double Level(const OpenLink& link) {
    return link.open_flows == 0 ? kInfinity : std::max(link.rest, 0.0) / link.weight;
  }

  static double CapLevel(const FlowDemand& flow) { return flow.cap_bytes_per_second / flow.weight; }

  double LeastLevel() const {
    double least = kInfinity;
    for (const OpenLink& link : links_) {
      least = std::min(least, Level(link));
    }
    for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
      if (!frozen_[flow]) {
        least = std::min(least, CapLevel(flows_[flow]));
      }
    }
    return least;
  }

  // Returns how many flows cannot go above `level`; all that are left when nothing limits them.
  std::size_t FreezeAt(double level) {
    std::vector<bool> full(links_.size());
    for (std::size_t link = 0; link < links_.size(); ++link) {
      full[link] = links_[link].open_flows > 0 && Level(links_[link]) <= level * kSameLevel;
    }
    std::size_t count = 0;
    for (std::size_t flow = 0; flow < flows_.size(); ++flow) {
      const bool stops = CapLevel(flows_[flow]) <= level ||
                         std::ranges::any_of(flows_[flow].uses,
                                             [&](const LinkUse& use) { return full[use.link]; });
      if (!frozen_[flow] && stops) {
        Freeze(flow, level);
        ++count;
      }
    }
    return count;
  }

  void Freeze(std::size_t index, double level) {
    const FlowDemand& flow = flows_[index];
    frozen_[index] = true;
    rate_[index] = std::isfinite(level) ? level * flow.weight : kInfinity;
    for (const LinkUse& use : flow.uses) {
      OpenLink& link = links_[use.link];
      const double weight = flow.weight * flow.multiplicity * use.share;
      link.rest -= level * weight;
      link.weight -= weight;
      --link.open_flows;
    }
  }

  std::span<const FlowDemand> flows_;
  std::vector<OpenLink> links_;
  std::vector<double> rate_;
  std::vector<bool> frozen_;
};

}  // namespace fair_sharing

/// Returns the weighted max-min fair rate of every flow in bytes per second: the smallest rate per
/// weight is as large as it can be, then the next …
///
/// Progressive filling: all rates per weight rise together until a link is full or a flow reaches
/// its cap; those flows are frozen and the rest goes on. The plain textbook form, O(links ·
/// rounds), which FlowSimulation is tested against. A flow without links and
/// cap is infinitely fast.
[[nodiscard]] inline std::vector<double> ShareFairly(std::span<const double> capacity_of_link,
                                                     std::span<const FlowDemand> flows) {
  return fair_sharing::Filling(capacity_of_link, flows).Run();
}

}  // namespace orrery::network
