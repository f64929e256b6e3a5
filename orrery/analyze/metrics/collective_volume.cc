#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

struct Samples {
  std::vector<double> x;  // bytes per rank
  std::vector<double> y;  // seconds per ring step
  std::set<std::int64_t> sizes;
};

// Centred sums, so that large sizes do not swallow small ones.
void FitLine(const Samples& samples, HockneyFit& fit) {
  const auto n = static_cast<double>(samples.x.size());
  double mean_x = 0;
  double mean_y = 0;
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    mean_x += samples.x[i] / n;
    mean_y += samples.y[i] / n;
  }
  double xx = 0;
  double xy = 0;
  for (std::size_t i = 0; i < samples.x.size(); ++i) {
    xx += (samples.x[i] - mean_x) * (samples.x[i] - mean_x);
    xy += (samples.x[i] - mean_x) * (samples.y[i] - mean_y);
  }
  fit.beta_s_per_byte = xy / xx;
  fit.alpha_s = mean_y - fit.beta_s_per_byte * mean_x;
}

}  // namespace

std::optional<HockneyFit> FitHockney(const RunView& run, std::string& reason) {
  std::map<std::int32_t, Samples> by_group_size;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (record.kind == CollectiveKind::kAllReduce && record.bytes > 0 && record.num_ranks > 1) {
      const auto n = static_cast<double>(record.num_ranks);
      Samples& samples = by_group_size[record.num_ranks];
      samples.x.push_back(static_cast<double>(record.bytes) / n);
      samples.y.push_back(static_cast<double>(record.transfer_ns) / 1e9 / (2 * (n - 1)));
      samples.sizes.insert(record.bytes);
    }
  }
  const std::pair<const std::int32_t, Samples>* best = nullptr;
  for (const auto& entry : by_group_size) {
    if (best == nullptr || entry.second.x.size() > best->second.x.size()) {
      best = &entry;
    }
  }
  const std::size_t num_samples = best == nullptr ? 0 : best->second.x.size();
  const std::size_t num_sizes = best == nullptr ? 0 : best->second.sizes.size();
  if (num_samples < 5 || num_sizes < 2) {
    reason = fmt::format("{} samples of {} sizes, needs 5 of 2", num_samples, num_sizes);
    return std::nullopt;
  }
  HockneyFit fit{.num_ranks = best->first, .num_samples = num_samples, .num_sizes = num_sizes};
  FitLine(best->second, fit);
  return fit;
}

namespace collective_volume {
namespace {

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

MetricResult ComputeFrom(const RunView& run, double (*pick)(const HockneyFit&)) {
  std::string reason;
  const auto fit = FitHockney(run, reason);
  if (!fit) {
    return NotAvailable(reason);
  }
  MetricResult result{.value = pick(*fit)};
  result.detail.Set("group_size", static_cast<std::int64_t>(fit->num_ranks))
      .Set("samples", fit->num_samples)
      .Set("sizes", fit->num_sizes)
      .Set("alpha_s", fit->alpha_s)
      .Set("beta_s_per_byte", fit->beta_s_per_byte)
      .Set("inverse_beta_GB_per_s", 1 / fit->beta_s_per_byte / 1e9);
  return result;
}

MetricResult Alpha(const RunView& run) {
  return ComputeFrom(run, [](const HockneyFit& fit) { return fit.alpha_s; });
}

MetricResult Beta(const RunView& run) {
  return ComputeFrom(run, [](const HockneyFit& fit) { return fit.beta_s_per_byte; });
}

MetricResult InverseBeta(const RunView& run) {
  return ComputeFrom(run, [](const HockneyFit& fit) { return 1 / fit.beta_s_per_byte; });
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"collective_vol_allreduce_gb", "Bytes of all-reduces per rank and step", "GB",
       &VolumeOfKind<CollectiveKind::kAllReduce>, Better::kNeither,
       "GPU activity, communication kernels, message sizes, all_reduce"},
      {"collective_vol_allgather_gb", "Bytes of all-gathers per rank and step", "GB",
       &VolumeOfKind<CollectiveKind::kAllGather>, Better::kNeither,
       "GPU activity, communication kernels, message sizes, all_gather"},
      {"collective_vol_reducescatter_gb", "Bytes of reduce-scatters per rank and step", "GB",
       &VolumeOfKind<CollectiveKind::kReduceScatter>, Better::kNeither,
       "GPU activity, communication kernels, message sizes, reduce_scatter"},
      {"collective_vol_alltoall_gb", "Bytes of all-to-alls per rank and step", "GB",
       &VolumeOfKind<CollectiveKind::kAllToAll>, Better::kNeither,
       "GPU activity, communication kernels, message sizes, all_to_all"},
      {"collective_vol_total_gb", "Bytes of all communication per rank and step", "GB",
       &ComputeTotal, Better::kNeither, "GPU activity, communication kernels, message sizes"},
      {"avg_comm_bandwidth_GBps", "Bus bytes of all communication / its transfer time", "GB/s",
       &AvgCommBandwidth, Better::kHigher, "GPU activity, communication kernels, message sizes"},
      {"hockney_alpha_s", "Latency of one ring step of an all-reduce", "s", &Alpha,
       Better::kNeither, "GPU activity, communication kernels, message sizes"},
      {"hockney_beta_s_per_byte", "Time per byte of one ring step", "s/B", &Beta, Better::kNeither,
       "GPU activity, communication kernels, message sizes"},
      {"hockney_inverse_beta_Bps", "Bandwidth of one ring step", "B/s", &InverseBeta,
       Better::kNeither, "GPU activity, communication kernels, message sizes"}};
}

}  // namespace collective_volume
}  // namespace orrery::analyze
