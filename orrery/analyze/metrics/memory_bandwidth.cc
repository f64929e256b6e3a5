#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/selected_rows.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::memory_bandwidth {
namespace {

using trace::ActivityKind;
using trace::CopyKind;
using trace::RowId;

constexpr std::size_t kNumCopyKinds = static_cast<std::size_t>(CopyKind::kUnknown) + 1;

constexpr std::array<std::string_view, kNumCopyKinds> kKindNames{"set",  "HtoD", "DtoH", "HtoA",
                                                                 "AtoH", "AtoA", "AtoD", "DtoA",
                                                                 "DtoD", "HtoH", "PtoP", "unknown"};

struct Moved {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t ns = 0;
  double sum_of_rates = 0;
  double fastest = 0;  // bytes per ns, which is GB/s

  void Add(std::int64_t more_bytes, std::int64_t duration_ns) {
    const double rate = static_cast<double>(more_bytes) / static_cast<double>(duration_ns);
    ++count;
    bytes += more_bytes;
    ns += duration_ns;
    sum_of_rates += rate;
    fastest = std::max(fastest, rate);
  }

  Moved& operator+=(const Moved& other) {
    count += other.count;
    bytes += other.bytes;
    ns += other.ns;
    sum_of_rates += other.sum_of_rates;
    fastest = std::max(fastest, other.fastest);
    return *this;
  }
};

// By kind; sets stand where copies have "none".
using MovedByKind = std::array<Moved, kNumCopyKinds>;

MovedByKind MovedOn(const RunView& run, const DeviceView& device) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  MovedByKind moved;
  ForEachSelected(run, device, [&](RowId row) {
    const ActivityKind kind = activities.kind[row];
    const bool has_rate = activities.bytes[row] >= 0 && activities.duration_ns[row] > 0;
    if (!has_rate || (kind != ActivityKind::kCopy && kind != ActivityKind::kSet)) {
      return;
    }
    const CopyKind recorded = activities.copy_kind[row];
    const CopyKind copy = kind == ActivityKind::kSet    ? CopyKind::kNone
                          : recorded == CopyKind::kNone ? CopyKind::kUnknown
                                                        : recorded;
    moved[static_cast<std::size_t>(copy)].Add(activities.bytes[row], activities.duration_ns[row]);
  });
  return moved;
}

Moved AllCopies(const MovedByKind& moved) {
  Moved all;
  for (std::size_t kind = 0; kind < moved.size(); ++kind) {
    if (kind != static_cast<std::size_t>(CopyKind::kNone)) {
      all += moved[kind];
    }
  }
  return all;
}

Value DescribeKinds(const MovedByKind& moved) {
  Value kinds = Value::Object();
  for (std::size_t kind = 0; kind < moved.size(); ++kind) {
    const Moved& part = moved[kind];
    if (part.count > 0) {
      kinds.Set(kKindNames[kind],
                Value::Object()
                    .Set("count", part.count)
                    .Set("bytes", part.bytes)
                    .Set("gb_per_s", static_cast<double>(part.bytes) / static_cast<double>(part.ns))
                    .Set("mean_gb_per_s", part.sum_of_rates / static_cast<double>(part.count))
                    .Set("max_gb_per_s", part.fastest));
    }
  }
  return kinds;
}

MetricResult Compute(const RunView& run) {
  MovedByKind all;
  Value rows = Value::List();
  MetricResult result = MeanOverDevices(run, [&](const DeviceView& device) {
    const MovedByKind moved = MovedOn(run, device);
    for (std::size_t kind = 0; kind < all.size(); ++kind) {
      all[kind] += moved[kind];
    }
    const Moved copies = AllCopies(moved);
    const std::optional<double> rate = Ratio(copies.bytes, copies.ns);
    rows.Add(DeviceRow(device)
                 .Set("value", rate ? Value(*rate) : Value())
                 .Set("kinds", DescribeKinds(moved)));
    return rate;
  });
  if (!result.is_ok()) {
    return NotAvailable("no copies");
  }
  result.detail.Set("per_rank", std::move(rows));
  result.detail.Set("kinds", DescribeKinds(all));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "memory_bandwidth",
           .meaning = "How fast copies move data, by kind",
           .unit = "GB/s",
           .needs = {{NeedKind::kCopies}},
           .definition = "Bytes of all copies over their summed durations, per device, mean over "
                         "devices. Detail for each kind (HtoD, DtoH, DtoD, PtoP …; sets apart): "
                         "count, bytes, that rate, the mean and the largest rate of one copy.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::memory_bandwidth
