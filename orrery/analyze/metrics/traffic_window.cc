#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/dimension.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::traffic_window {
namespace {

// Communication of one dimension without a pause.
struct Burst {
  Interval time;
  Dimension dimension = Dimension::kUnknown;
};

std::vector<Burst> BurstsOf(const RunView& run, const DeviceView& device) {
  std::array<std::vector<Interval>, kNumDimensions> by_dimension;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    by_dimension[static_cast<std::size_t>(part.dimension)].push_back(part.time);
  }
  std::vector<Burst> bursts;
  for (std::size_t i = 0; i < by_dimension.size(); ++i) {
    const IntervalSet busy = IntervalSet::Of(by_dimension[i]);
    for (const Interval& time : busy.intervals()) {
      bursts.push_back({time, static_cast<Dimension>(i)});
    }
  }
  std::ranges::sort(bursts, {}, [](const Burst& burst) {
    return std::pair(burst.time.begin_ns, burst.dimension);
  });
  return bursts;
}

using Pair = std::pair<Dimension, Dimension>;

struct Windows {
  std::map<Pair, std::vector<double>> us_by_pair;
  std::map<Dimension, std::int64_t> busy_ns;
};

// From each burst to the next one of its own and of any other dimension.
void AddWindows(const std::vector<Burst>& bursts, Windows& windows) {
  std::map<Dimension, const Burst*> next_of;  // going backwards
  for (std::size_t i = bursts.size(); i > 0; --i) {
    const Burst& burst = bursts[i - 1];
    windows.busy_ns[burst.dimension] += burst.time.length_ns();
    const Burst* other = nullptr;
    for (const auto& [dimension, next] : next_of) {
      if (dimension != burst.dimension &&
          (other == nullptr || next->time.begin_ns < other->time.begin_ns)) {
        other = next;
      }
    }
    const auto add = [&](const Burst& next) {
      const std::int64_t gap_ns = std::max<std::int64_t>(0, next.time.begin_ns - burst.time.end_ns);
      windows.us_by_pair[{burst.dimension, next.dimension}].push_back(static_cast<double>(gap_ns) /
                                                                      1e3);
    };
    if (other != nullptr) {
      add(*other);
    }
    if (const auto same = next_of.find(burst.dimension); same != next_of.end()) {
      add(*same->second);
    }
    next_of[burst.dimension] = &burst;
  }
}

Value PairRow(const Pair& pair, const std::vector<double>& us) {
  return Value::Object()
      .Set("from", DimensionName(pair.first))
      .Set("to", DimensionName(pair.second))
      .Set("count", us.size())
      .Set("mean_us", Mean(us))
      .Set("p50_us", Quantile(us, 0.5))
      .Set("p95_us", Quantile(us, 0.95))
      .Set("max_us", *std::ranges::max_element(us));
}

MetricResult Compute(const RunView& run) {
  Windows windows;
  for (const DeviceView& device : run.devices) {
    AddWindows(BurstsOf(run, device), windows);
  }
  if (windows.busy_ns.size() < 2) {
    const Dimension only =
        windows.busy_ns.empty() ? Dimension::kUnknown : windows.busy_ns.begin()->first;
    return NotAvailable(
        fmt::format("traffic of one parallel dimension only ({})", DimensionName(only)));
  }
  std::vector<double> between;
  Value rows = Value::List();
  for (const auto& [pair, us] : windows.us_by_pair) {
    rows.Add(PairRow(pair, us));
    if (pair.first != pair.second) {
      between.insert(between.end(), us.begin(), us.end());
    }
  }
  if (between.empty()) {
    return NotAvailable("no burst is followed by one of another dimension");
  }
  MetricResult result{.value = Mean(between)};
  Value busy = Value::Object();
  for (const auto& [dimension, ns] : windows.busy_ns) {
    busy.Set(DimensionName(dimension), static_cast<double>(ns) / 1e9);
  }
  result.detail.Set("busy_s", std::move(busy));
  result.detail.Set("windows", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "traffic_window",
           .meaning = "Time between communication of different parallel dimensions",
           .unit = "µs",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}},
           .definition =
               "Kernels of a dimension merged into bursts; from the end of a burst to the "
               "begin of the next one of another dimension, at least 0; the mean",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::traffic_window
