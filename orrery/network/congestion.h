#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"

namespace orrery::network {

/// How much of a link's bandwidth arrives when flows compete for it under ECN-style control: all
/// for one flow, then `first - slope · log2(flows)`, never below `floor`.
struct CongestionModel {
  double first = 1;
  double slope = 0;
  double floor = 1;
  std::string source{};

  /// Share of the bandwidth that `competing` flows get together; never rises with their number.
  [[nodiscard]] double Goodput(double competing) const;
};

/// The entry of data/network/congestion.yaml with that name ("ecn", "lossless"), which is built
/// into the program; fails with the names there are.
[[nodiscard]] Result<CongestionModel> FindCongestionModel(std::string_view name);

/// A flow that offers `demand_bytes_per_second` along the links of `path`, in order.
struct OfferedFlow {
  std::span<const LinkId> path;
  double demand_bytes_per_second = 0;
};

/// The effect of pause frames (PFC) on a steady load.
struct PauseReport {
  std::vector<double> paused_share_of_link;  // of the time, requested by the node at its far end
  std::vector<double> rate_of_flow;          // bytes per second
  /// Flows that no link on their path would slow, but pauses for others do.
  std::vector<std::uint32_t> victims;
};

/// A link whose demand D exceeds what it can carry, C, makes the links in front of it pause
/// 1 - C / D of the time, whatever they carry; what they can carry then shrinks, and they pause
/// those in front of them. Repeats until nothing changes; shares only rise, so this ends, and at
/// once when no link waits for itself (networks with cycles of buffers may come to a standstill:
/// shares of 1). A round costs the sum of all path lengths.
[[nodiscard]] PauseReport PauseUnderLoad(std::span<const double> capacity_of_link,
                                         std::span<const OfferedFlow> flows);

}  // namespace orrery::network
