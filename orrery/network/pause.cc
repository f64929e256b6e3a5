#include "orrery/network/pause.h"

#include <algorithm>

namespace orrery::network {
namespace {

// Shares that differ by less are the same.
constexpr double kSmallestChange = 1e-9;
constexpr int kMostRounds = 10'000;

class Pausing {
 public:
  Pausing(std::span<const double> capacity, std::span<const OfferedFlow> flows)
      : capacity_(capacity),
        flows_(flows),
        demand_(capacity.size(), 0),
        paused_(capacity.size(), 0) {
    for (const OfferedFlow& flow : flows) {
      for (const LinkId link : flow.path) {
        demand_[link] += flow.demand_bytes_per_second;
      }
    }
  }

  PauseReport Run() && {
    for (int round = 0; round < kMostRounds && PauseOnce() > kSmallestChange; ++round) {
    }
    PauseReport report;
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      const double served = ServedShare(flows_[i], true);
      report.rate_of_flow.push_back(flows_[i].demand_bytes_per_second * served);
      if (served < 1 && ServedShare(flows_[i], false) == 1) {
        report.victims.push_back(i);
      }
    }
    report.paused_share_of_link = std::move(paused_);
    return report;
  }

 private:
  // Share of its demand that a link carries.
  [[nodiscard]] double Carried(LinkId link, bool with_pauses) const {
    const double open = capacity_[link] * (with_pauses ? 1 - paused_[link] : 1);
    return demand_[link] > open ? open / demand_[link] : 1;
  }

  [[nodiscard]] double ServedShare(const OfferedFlow& flow, bool with_pauses) const {
    double share = 1;
    for (const LinkId link : flow.path) {
      share = std::min(share, Carried(link, with_pauses));
    }
    return share;
  }

  // Makes every link pause as the links after it need; returns the largest increase.
  double PauseOnce() {
    double largest_rise = 0;
    for (const OfferedFlow& flow : flows_) {
      for (std::size_t i = flow.path.size(); i-- > 1;) {
        const double wanted = 1 - Carried(flow.path[i], true);
        double& paused = paused_[flow.path[i - 1]];
        largest_rise = std::max(largest_rise, wanted - paused);
        paused = std::max(paused, wanted);
      }
    }
    return largest_rise;
  }

  std::span<const double> capacity_;
  std::span<const OfferedFlow> flows_;
  std::vector<double> demand_;
  std::vector<double> paused_;
};

}  // namespace

PauseReport PauseUnderLoad(std::span<const double> capacity_of_link,
                           std::span<const OfferedFlow> flows) {
  return Pausing(capacity_of_link, flows).Run();
}

}  // namespace orrery::network
