#include "orrery/network/congestion.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/network/embedded_congestion.h"
#include "orrery/network/topology.h"

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
  double Carried(LinkId link, bool with_pauses) const {
    const double open = capacity_[link] * (with_pauses ? 1 - paused_[link] : 1);
    return demand_[link] > open ? open / demand_[link] : 1;
  }

  double ServedShare(const OfferedFlow& flow, bool with_pauses) const {
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
        const double needed = 1 - Carried(flow.path[i], true);
        double& paused = paused_[flow.path[i - 1]];
        largest_rise = std::max(largest_rise, needed - paused);
        paused = std::max(paused, needed);
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

double CongestionModel::Goodput(double competing) const {
  if (competing <= 1) {
    return 1;
  }
  return std::max(first - slope * std::log2(competing), floor);
}

Result<CongestionModel> FindCongestionModel(std::string_view name) {
  std::string names;
  for (const YAML::Node& node : YAML::Load(kEmbeddedCongestion)["models"]) {
    const std::string known = node["name"].as<std::string>();
    if (known == name) {
      return CongestionModel{.first = node["first"].as<double>(),
                             .slope = node["slope"].as<double>(),
                             .floor = node["floor"].as<double>(),
                             .source = node["source"].as<std::string>()};
    }
    names += (names.empty() ? "" : ", ") + known;
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("no such congestion model; there are {}: {}", names, name));
}

PauseReport PauseUnderLoad(std::span<const double> capacity_of_link,
                           std::span<const OfferedFlow> flows) {
  return Pausing(capacity_of_link, flows).Run();
}

}  // namespace orrery::network
