#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/kernel_work.h"
#include "orrery/analyze/metric.h"

namespace orrery::analyze::memory_traffic {
namespace {

using trace::ActivityKind;
using trace::CopyKind;

struct Moved {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t ns = 0;
  double sum_of_rates = 0;  // bytes per ns, which is GB/s
  double fastest = 0;

  void Add(std::int64_t more_bytes, std::int64_t more_ns) {
    const double rate = static_cast<double>(more_bytes) / static_cast<double>(more_ns);
    ++count;
    bytes += more_bytes;
    ns += more_ns;
    sum_of_rates += rate;
    fastest = std::max(fastest, rate);
  }

  [[nodiscard]] double GigabytesPerSecond() const {
    return static_cast<double>(bytes) / static_cast<double>(ns);
  }

  [[nodiscard]] Value Row(std::string_view name) const {
    return Value::Object()
        .Set("kind", name)
        .Set("count", count)
        .Set("bytes", bytes)
        .Set("seconds", static_cast<double>(ns) / 1e9)
        .Set("GB_per_s", GigabytesPerSecond())
        .Set("mean_GB_per_s", sum_of_rates / static_cast<double>(count))
        .Set("max_GB_per_s", fastest);
  }
};

// By kind; sets stand where copies have "none".
using MovedByKind = std::array<Moved, kNumCopyKinds>;

void AddDevice(const RunView& run, const DeviceView& device, MovedByKind& by_kind, Moved& copies) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  ForEachSelected(run, device, [&](RowId row) {
    const std::int64_t bytes = activities.bytes[row];
    const std::int64_t ns = activities.duration_ns[row];
    const bool is_copy = activities.kind[row] == ActivityKind::kMemcpy;
    if (bytes > 0 && ns > 0 && (is_copy || activities.kind[row] == ActivityKind::kMemset)) {
      by_kind[static_cast<std::size_t>(CopyKindOf(activities, row))].Add(bytes, ns);
      if (is_copy) {
        copies.Add(bytes, ns);
      }
    }
  });
}

MetricResult AverageMemoryBandwidth(const RunView& run) {
  MovedByKind by_kind;
  Moved copies;
  for (const DeviceView& device : run.devices) {
    AddDevice(run, device, by_kind, copies);
  }
  if (copies.count == 0) {
    return NotAvailable("no copies in the selected steps");
  }
  Value rows = Value::List();
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    if (by_kind[kind].count > 0) {
      rows.Add(by_kind[kind].Row(CopyKindName(static_cast<CopyKind>(kind))));
    }
  }
  MetricResult result{.value = copies.GigabytesPerSecond()};
  result.detail.Set("by_kind", std::move(rows));
  return result;
}

MetricResult EstimatedBandwidth(const RunView& run) {
  std::int64_t known_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t kernels = 0;
  bool is_from_shapes = false;
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const WorkTotal work = TotalWork(run, device);
        known_ns += work.bytes_ns;
        compute_ns += work.compute_ns;
        kernels += work.kernels_with_bytes;
        is_from_shapes |= work.is_from_shapes;
        const auto window_ns = static_cast<double>(device.total.window_ns);
        return window_ns == 0 ? std::nullopt : std::optional(work.bytes / window_ns);
      });
  if (kernels == 0) {
    return NotAvailable("no byte counts");
  }
  const auto covered = Percent(known_ns, compute_ns);
  result.detail.Set("estimated", true);
  result.detail.Set("source",
                    WorkSourceName(is_from_shapes ? WorkSource::kShapes : WorkSource::kCostModel));
  result.detail.Set("kernels_with_bytes", kernels);
  result.detail.Set("covered_percent", covered ? Value(*covered) : Value());
  if (known_ns < compute_ns) {
    result.detail.Set("bound", "lower");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "average_memory_bandwidth",
       .meaning = "Bandwidth of memcpys, by kind",
       .unit = "GB/s",
       .needs = {{NeedKind::kGpu}, {NeedKind::kCopies}},
       .definition = "Sum of bytes / sum of durations over memcpys; memsets are listed separately",
       .compute = &AverageMemoryBandwidth,
       .aliases = {{.name = "memory_bandwidth"}},
       .better = Better::kHigher},
      {.name = "memory_transfer_overhead",
       .meaning = "Share of the step in which only memcpys and memsets run",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition = "100 * (union of memcpys and memsets without kernels) / window; per device, "
                     "then the mean",
       .compute =
           [](const RunView& run) {
             return MeanRatio(run, &Breakdown::exposed_memory_ns, &Breakdown::window_ns, 100);
           },
       .better = Better::kLower},
      {.name = "estimated_bandwidth",
       .meaning = "Bytes that the kernels have to move / time of the steps",
       .unit = "GB/s",
       .needs = {{NeedKind::kGpu}},
       .definition = "Sum of known bytes (XLA's bytes_accessed, or operator shapes: inputs and "
                     "one output) / window; per device, then the mean",
       .compute = &EstimatedBandwidth}};
}

}  // namespace orrery::analyze::memory_traffic
