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
struct CongestionParameters {
  double first = 1;
  double slope = 0;
  double floor = 1;
  std::string source{};
};

class CongestionModel {
 public:
  explicit CongestionModel(CongestionParameters parameters) : parameters_(std::move(parameters)) {}

  /// Share of the bandwidth that `competing` flows get together; never rises with their number.
  [[nodiscard]] double Goodput(double competing) const;

  [[nodiscard]] const CongestionParameters& parameters() const { return parameters_; }

 private:
  CongestionParameters parameters_;
};

/// The entry of data/network/congestion.yaml with that name ("dcqcn", "lossless"), which is built
/// into the program; fails with the names there are.
[[nodiscard]] Result<CongestionModel> FindCongestionModel(std::string_view name);

/// A flow that offers `demand_bytes_per_second` along the links of `path`, in order.
struct OfferedFlow {
  std::span<const LinkId> path;
  double demand_bytes_per_second = 0;
};

/// What pause frames (PFC) do to a steady load.
struct PauseReport {
  std::vector<double> paused_share_of_link;  // of the time, by the link's far end
  std::vector<double> rate_of_flow;          // bytes per second
  std::vector<std::uint32_t> victims;        // flows that are slowed only by pauses of others
};

/// A link whose demand D exceeds what it can carry, C, makes the links in front of it pause
/// 1 - C / D of the time, whatever they carry; they in turn pause those in front of them. Repeats
/// until nothing changes: O(rounds · sum of path lengths), at most as many rounds as the longest
/// path has links in networks without cycles of buffers.
[[nodiscard]] PauseReport PauseUnderLoad(std::span<const double> capacity_of_link,
                                         std::span<const OfferedFlow> flows);

}  // namespace orrery::network
