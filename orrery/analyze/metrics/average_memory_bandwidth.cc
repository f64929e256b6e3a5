#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::average_memory_bandwidth {
namespace {

using trace::ActivityKind;
using trace::CopyKind;

constexpr std::array<std::string_view, 12> kCopyNames{
    "other",    "HtoD",     "DtoH", "HtoArray", "ArrayToH", "ArrayToArray",
    "ArrayToD", "DToArray", "DtoD", "HtoH",     "PtoP",     "unknown"};

struct Moved {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t ns = 0;

  void Add(std::int64_t more_bytes, std::int64_t more_ns) {
    ++count;
    bytes += more_bytes;
    ns += more_ns;
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
        .Set("GB_per_s", GigabytesPerSecond());
  }
};

MetricResult Compute(const RunView& run) {
  std::array<Moved, kCopyNames.size()> by_kind;
  Moved sets;
  Moved all;
  for (const DeviceView& device : run.devices) {
    const trace::Activities& activities = run.TraceOf(device).activities;
    for (const trace::RowId row : device.activities) {
      const std::int64_t bytes = activities.bytes[row];
      const std::int64_t ns = activities.duration_ns[row];
      if (bytes <= 0 || ns <= 0 || !run.IsSelected(device.rank_index, activities.begin_ns[row])) {
        continue;
      }
      if (activities.kind[row] == ActivityKind::kSet) {
        sets.Add(bytes, ns);
      } else if (activities.kind[row] == ActivityKind::kCopy) {
        by_kind[static_cast<std::size_t>(activities.copy_kind[row])].Add(bytes, ns);
        all.Add(bytes, ns);
      }
    }
  }
  if (all.count == 0) {
    return NotAvailable("no copies in the selected steps");
  }
  Value rows = Value::List();
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    if (by_kind[kind].count > 0) {
      rows.Add(by_kind[kind].Row(kCopyNames[kind]));
    }
  }
  if (sets.count > 0) {
    rows.Add(sets.Row("set (not in the number)"));
  }
  MetricResult result{.value = all.GigabytesPerSecond()};
  result.detail.Set("by_kind", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "average_memory_bandwidth",
           .meaning = "Bandwidth of the copies",
           .unit = "GB/s",
           .needs = {{NeedKind::kGpu}, {NeedKind::kCopies}},
           .definition = "Sum of bytes / sum of durations over copies; sets apart",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::average_memory_bandwidth
