#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/copy_kind_name.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/selected_rows.h"

namespace orrery::analyze::average_memory_bandwidth {
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

MetricResult Compute(const RunView& run) {
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

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "average_memory_bandwidth",
           .meaning = "How fast copies move data, by kind",
           .unit = "GB/s",
           .needs = {{NeedKind::kGpu}, {NeedKind::kCopies}},
           .definition = "Sum of bytes / sum of durations over copies; sets are shown beside them",
           .compute = &Compute,
           .aliases = {{.name = "memory_bandwidth"}},
           .better = Better::kHigher}};
}

}  // namespace orrery::analyze::average_memory_bandwidth
