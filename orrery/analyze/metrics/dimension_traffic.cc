#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::dimension_traffic {
namespace {

// Communication of one dimension without a pause.
struct Burst {
  Interval time;
  Dimension dimension = Dimension::kUnknown;
};

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

MetricResult TrafficWindow(const RunView& run) {
  Windows windows;
  for (const DeviceView& device : run.devices) {
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
    AddWindows(bursts, windows);
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
    rows.Add(Value::Object()
                 .Set("from", DimensionName(pair.first))
                 .Set("to", DimensionName(pair.second))
                 .Set("count", us.size())
                 .Set("mean_us", Mean(us))
                 .Set("p50_us", Quantile(us, 0.5))
                 .Set("p95_us", Quantile(us, 0.95))
                 .Set("max_us", *std::ranges::max_element(us)));
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

MetricResult TrafficDistribution(const RunView& run) {
  TrafficByDimension traffic;
  for (const DeviceView& device : run.devices) {
    AddBytes(run, device, traffic);
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

MetricResult ClockOffsets(const RunView& run) {
  double largest_us = 0;
  Value rows = Value::List();
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    const trace::RankClock& clock = run.alignment.ranks[place];
    const double offset_us = static_cast<double>(clock.offset_ns) / 1e3;
    largest_us = std::max(largest_us, std::abs(offset_us));
    rows.Add(Value::Object()
                 .Set("rank", static_cast<std::int64_t>(trace::RankOf(*run.set, place)))
                 .Set("offset_us", offset_us)
                 .Set("own_offset_us", clock.own_offset_ns / 1e3)
                 .Set("scatter_us", clock.deviation_ns / 1e3)
                 .Set("drift_us_per_s", static_cast<double>(clock.drift_ps_per_s) / 1e6)
                 .Set("records", clock.num_records)
                 .Set("component", clock.component)
                 .Set("applied", clock.apply));
  }
  MetricResult result{.value = largest_us};
  result.detail.Set("median_end_spread_us",
                    static_cast<double>(run.matched.median_end_spread_ns) / 1e3);
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

double Share(std::int64_t part_ns, const StageTime& stage) {
  return stage.window_ns == 0
             ? 0
             : 100.0 * static_cast<double>(part_ns) / static_cast<double>(stage.window_ns);
}

// The bubble of an ideal schedule, where the card has the required fields.
Value ScheduleBound(const RunView& run) {
  const auto stages = static_cast<double>(CardParallelSize(*run.set, "pp"));
  const auto batch = CardNumber(*run.set, "batch_size");
  if (stages <= 1 || !batch) {
    return {};
  }
  const double per_microbatch = static_cast<double>(CardParallelSize(*run.set, "dp")) *
                                CardNumber(*run.set, "pp_mb").value_or(1);
  const double chunks = CardNumber(*run.set, "pp_chunks").value_or(1);
  return 100 * (stages - 1) / (chunks * *batch / per_microbatch + stages - 1);
}

// The columns of `per_stage`, and the shares of a rank in each step by column.
constexpr std::array<std::pair<std::string_view, std::int64_t (*)(const StageTime&)>, 6> kColumns{{
    {"bubble_percent", [](const StageTime& stage) { return stage.bubble_ns(); }},
    {"edge_percent", [](const StageTime& stage) { return stage.edge_ns; }},
    {"p2p_wait_percent", [](const StageTime& stage) { return stage.p2p_wait_ns; }},
    {"drain_percent", [](const StageTime& stage) { return stage.drain_ns; }},
    {"host_percent", [](const StageTime& stage) { return stage.host_ns; }},
    {"other_percent", [](const StageTime& stage) { return stage.other_ns; }},
}};

using StageShares = std::array<std::vector<double>, kColumns.size()>;

MetricResult PipelineBubble(const RunView& run) {
  const std::vector<PipelineStep> steps = MeasurePipelines(run);
  if (steps.empty()) {
    return NotAvailable(
        fmt::format("needs one rank of every stage, found {} ranks", run.set->ranks.size()));
  }
  const auto stages_needed = static_cast<std::size_t>(CardParallelSize(*run.set, "pp"));
  std::vector<double> of_steps;
  std::map<std::int32_t, StageShares> by_rank;
  for (const PipelineStep& step : steps) {
    if (step.stages.size() < stages_needed) {
      return NotAvailable(fmt::format("needs one rank of each of the {} stages, found {}",
                                      stages_needed, step.stages.size()));
    }
    std::vector<double> of_stages;
    for (const StageTime& stage : step.stages) {
      of_stages.push_back(Share(stage.bubble_ns(), stage));
      for (std::size_t i = 0; i < kColumns.size(); ++i) {
        by_rank[stage.rank][i].push_back(Share(kColumns[i].second(stage), stage));
      }
    }
    of_steps.push_back(Mean(of_stages));
  }
  MetricResult result{.value = Mean(of_steps)};
  result.detail.Set("pipelines_and_steps", steps.size());
  result.detail.Set("schedule_bound_percent", ScheduleBound(run));
  Value rows = Value::List();
  for (const auto& [rank, shares] : by_rank) {
    Value row = Value::Object().Set("rank", static_cast<std::int64_t>(rank));
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      row.Set(kColumns[i].first, Mean(shares[i]));
    }
    rows.Add(std::move(row));
  }
  result.detail.Set("per_stage", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"traffic_window", "Time between communication of different parallel dimensions", "µs",
       &TrafficWindow, Better::kNeither, "GPU activity, communication kernels"},
      {"traffic_distribution", "Share of the traffic that the busiest parallel dimension has", "%",
       &TrafficDistribution, Better::kNeither,
       "GPU activity, communication kernels, message sizes"},
      {"clock_offsets", "Largest difference of a rank's clock from the others", "µs", &ClockOffsets,
       Better::kNeither, "2 ranks, matched collectives"},
      {"bubble_size_pipeline", "Share of the step in which pipeline stages are idle", "%",
       &PipelineBubble, Better::kLowerTime, "GPU activity, pipeline parallelism, send/receive"}};
}

}  // namespace orrery::analyze::dimension_traffic
