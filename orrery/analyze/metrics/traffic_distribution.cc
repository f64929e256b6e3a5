#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/dimension.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/collective_events.h"

namespace orrery::analyze::traffic_distribution {
namespace {


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

MetricResult Compute(const RunView& run) {
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
  return {{.name = "traffic_distribution",
           .meaning = "Share of the traffic that the busiest parallel dimension has",
           .unit = "%",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
           .definition = "100 * largest dimension's bus bytes / all; --by time: unions of kernels",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::traffic_distribution
