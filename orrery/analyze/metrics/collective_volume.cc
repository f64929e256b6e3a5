#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/trace/collective_events.h"

namespace orrery::analyze::collective_volume {
namespace {

using trace::CollectiveKind;

struct Volume {
  std::int64_t bytes = 0;
  double bus_bytes = 0;
  std::int64_t calls = 0;
  std::int64_t calls_without_size = 0;
};

Volume VolumeOf(const RunView& run, const DeviceView& device, std::optional<CollectiveKind> kind) {
  Volume volume;
  const trace::Trace& trace = run.TraceOf(device);
  ForEachCollective(run, device, [&](RowId row) {
    const CollectiveKind found = trace.collectives.kind[row];
    if (kind && !IsKind(found, *kind)) {
      return;
    }
    const std::int64_t bytes = trace::EventOfRow(trace, row).bytes;
    if (bytes < 0) {
      ++volume.calls_without_size;
      return;
    }
    const std::int32_t size = NumParticipants(run, device.rank_index, row);
    ++volume.calls;
    volume.bytes += bytes;
    volume.bus_bytes += static_cast<double>(bytes) * BusFactor(found, size).value_or(0);
  });
  return volume;
}

MetricResult ComputeFor(const RunView& run, std::optional<CollectiveKind> kind) {
  Value rows = Value::List();
  std::int64_t calls = 0;
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const Volume volume = VolumeOf(run, device, kind);
        const auto steps = static_cast<double>(NumSteps(device));
        calls += volume.calls;
        rows.Add(DeviceRow(device)
                     .Set("bytes", volume.bytes)
                     .Set("bus_bytes", volume.bus_bytes)
                     .Set("calls", volume.calls)
                     .Set("calls_without_size", volume.calls_without_size));
        return static_cast<double>(volume.bytes) / steps / 1e9;
      });
  if (calls == 0) {
    return NotAvailable(kNoSizesReason);
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

template <CollectiveKind kKind>
MetricResult VolumeOfKind(const RunView& run) {
  return ComputeFor(run, kKind);
}

MetricResult ComputeTotal(const RunView& run) {
  return ComputeFor(run, std::nullopt);
}

Metric MetricOf(std::string_view name, std::string_view meaning, CollectiveKind kind,
                MetricResult (*compute)(const RunView&)) {
  Metric metric{.name = name,
                .meaning = meaning,
                .unit = "GB",
                .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
                .definition = "Sum of message sizes per step, mean over ranks",
                .compute = compute};
  if (kind != CollectiveKind::kUnknown) {
    metric.needs.push_back({.kind = NeedKind::kCollective, .collective = kind});
  }
  return metric;
}

MetricResult AvgCommBandwidth(const RunView& run) {
  double bytes = 0;
  double ns = 0;
  std::int64_t count = 0;
  bool all_matched = true;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (record.BusBandwidth()) {
      bytes += *record.BusBytes();
      ns += static_cast<double>(record.transfer_ns);
      all_matched &= record.is_matched;
      ++count;
    }
  }
  if (count == 0) {
    return NotAvailable(kNoSizesReason);
  }
  MetricResult result{.value = bytes / ns};
  result.detail.Set("collectives", count);
  if (!all_matched) {
    result.detail.Set("bound", "lower");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {MetricOf("collective_vol_allreduce_gb", "Bytes of all-reduces per rank and step",
                   CollectiveKind::kAllReduce, &VolumeOfKind<CollectiveKind::kAllReduce>),
          MetricOf("collective_vol_allgather_gb", "Bytes of all-gathers per rank and step",
                   CollectiveKind::kAllGather, &VolumeOfKind<CollectiveKind::kAllGather>),
          MetricOf("collective_vol_reducescatter_gb", "Bytes of reduce-scatters per rank and step",
                   CollectiveKind::kReduceScatter, &VolumeOfKind<CollectiveKind::kReduceScatter>),
          MetricOf("collective_vol_alltoall_gb", "Bytes of all-to-alls per rank and step",
                   CollectiveKind::kAllToAll, &VolumeOfKind<CollectiveKind::kAllToAll>),
          MetricOf("collective_vol_total_gb", "Bytes of all communication per rank and step",
                   CollectiveKind::kUnknown, &ComputeTotal),
          {.name = "avg_comm_bandwidth_GBps",
           .meaning = "Bus bytes of all communication / its transfer time",
           .unit = "GB/s",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
           .definition = "Sum of bus bytes / sum of the shortest durations over ranks",
           .compute = &AvgCommBandwidth,
           .better = Better::kHigher}};
}

}  // namespace orrery::analyze::collective_volume
