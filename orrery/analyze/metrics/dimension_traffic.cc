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

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/dimension.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/statistics.h"
#include "orrery/trace/collective_events.h"

namespace orrery::analyze::dimension_traffic {
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

MetricResult TrafficWindow(const RunView& run) {
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

struct Traffic {
  double bus_bytes = 0;
  std::int64_t calls = 0;
  std::int64_t busy_ns = 0;
  std::int64_t wait_ns = 0;
  std::int64_t transfer_ns = 0;
  DimensionRule rule = DimensionRule::kNone;
};

using TrafficByDimension = std::array<Traffic, kNumDimensions>;

void AddBytes(const RunView& run, const DeviceView& device, TrafficByDimension& traffic) {
  const trace::Trace& trace = run.TraceOf(device);
  const auto dimensions = CollectiveDimensions(run, device.rank_index);
  ForEachCollective(run, device, [&](RowId row) {
    Traffic& of = traffic[static_cast<std::size_t>(dimensions[row].dimension)];
    const std::int32_t size = NumParticipants(run, device.rank_index, row);
    const std::int64_t bytes = trace::EventOfRow(trace, row).bytes;
    of.rule = dimensions[row].rule;
    ++of.calls;
    of.bus_bytes += static_cast<double>(std::max<std::int64_t>(bytes, 0)) *
                    BusFactor(trace.collectives.kind[row], size).value_or(0);
  });
}

void AddTimes(const RunView& run, const DeviceView& device, TrafficByDimension& traffic) {
  std::array<std::vector<Interval>, kNumDimensions> busy;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    const auto which = static_cast<std::size_t>(part.dimension);
    busy[which].push_back(part.time);
    traffic[which].wait_ns += part.useful_ns - part.time.begin_ns;
    traffic[which].transfer_ns += part.time.end_ns - part.useful_ns;
  }
  for (std::size_t i = 0; i < busy.size(); ++i) {
    traffic[i].busy_ns += IntervalSet::Of(busy[i]).length_ns();
  }
}

MetricResult TrafficDistribution(const RunView& run) {
  TrafficByDimension traffic;
  for (const DeviceView& device : run.devices) {
    AddBytes(run, device, traffic);
    AddTimes(run, device, traffic);
  }
  const auto weight = [&](const Traffic& of) {
    return run.options.distribute_by_time ? static_cast<double>(of.busy_ns) : of.bus_bytes;
  };
  double total = 0;
  double largest = 0;
  for (const Traffic& of : traffic) {
    total += weight(of);
    largest = std::max(largest, weight(of));
  }
  if (total <= 0) {
    return NotAvailable("no communication with a known size (--by time does without)");
  }
  MetricResult result{.value = 100 * largest / total};
  result.detail.Set("by", run.options.distribute_by_time ? "time" : "bus bytes");
  Value rows = Value::List();
  for (std::size_t i = 0; i < traffic.size(); ++i) {
    const Traffic& of = traffic[i];
    if (of.calls > 0 || of.busy_ns > 0) {
      rows.Add(Value::Object()
                   .Set("dimension", DimensionName(static_cast<Dimension>(i)))
                   .Set("share_percent", 100 * weight(of) / total)
                   .Set("bus_bytes", of.bus_bytes)
                   .Set("calls", of.calls)
                   .Set("time_s", static_cast<double>(of.busy_ns) / 1e9)
                   .Set("wait_s", static_cast<double>(of.wait_ns) / 1e9)
                   .Set("transfer_s", static_cast<double>(of.transfer_ns) / 1e9)
                   .Set("decided_by", DimensionRuleName(of.rule)));
    }
  }
  result.detail.Set("per_dimension", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "traffic_window",
       .meaning = "Time between communication of different parallel dimensions",
       .unit = "µs",
       .needs = {{NeedKind::kGpu}, {NeedKind::kComm}},
       .definition = "Kernels of a dimension merged into bursts; from the end of a burst to the "
                     "begin of the next one of another dimension, at least 0; the mean",
       .compute = &TrafficWindow},
      {.name = "traffic_distribution",
       .meaning = "Share of the traffic that the busiest parallel dimension has",
       .unit = "%",
       .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
       .definition = "100 * largest dimension's bus bytes / all; --by time: unions of kernels",
       .compute = &TrafficDistribution}};
}

}  // namespace orrery::analyze::dimension_traffic
