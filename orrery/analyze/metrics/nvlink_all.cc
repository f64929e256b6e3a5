#include <cstddef>
#include <utility>
#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/link_summary.h"
#include "orrery/analyze/link_throughput.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::nvlink_all {
namespace {

constexpr std::size_t kMaxPoints = 2'000;

Value Gigabytes(std::optional<double> bytes_per_second) {
  return bytes_per_second ? Value(*bytes_per_second / 1e9) : Value();
}

void AddPoints(const GpuTraffic& gpu, Value& rows) {
  const std::vector<ThroughputPoint> points = ThroughputOverTime(gpu, kMaxPoints);
  for (const ThroughputPoint& point : points) {
    const std::int64_t since_start_ns = point.begin_ns - points.front().begin_ns;
    rows.Add(Value::Object()
                 .Set("gpu", gpu.gpu < 0 ? Value() : Value(gpu.gpu))
                 .Set("time_s", static_cast<double>(since_start_ns) / 1e9)
                 .Set("tx_GB_per_s", Gigabytes(point.sent_bytes_per_second))
                 .Set("rx_GB_per_s", Gigabytes(point.received_bytes_per_second)));
  }
}

Value Described(MetricResult part) {
  Value described = Value::Object().Set("value", part.value ? Value(*part.value) : Value());
  for (const auto& [name, field] : part.detail.fields()) {
    described.Set(name, field);
  }
  return described;
}

MetricResult Compute(const RunView& run) {
  const LinkTraffic traffic = LinkTrafficOf(run);
  MetricResult peak = MaxThroughput(traffic, run.options);
  if (!peak.is_ok()) {
    return peak;
  }
  MetricResult result{.value = peak.value};
  result.detail.Set("max_throughput", Described(std::move(peak)));
  result.detail.Set("avg_throughput", Described(AverageThroughput(traffic, run.options)));
  result.detail.Set("total_communication", Described(TotalCommunication(traffic, run.options)));
  Value rows = Value::List();
  for (const GpuTraffic& gpu : traffic.gpus) {
    AddPoints(gpu, rows);
  }
  result.detail.Set("series", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "nvlink_all",
           .meaning = "Highest and mean NVLink throughput, bytes, and the throughput over time",
           .unit = "GB/s",
           .needs = {{NeedKind::kLinkCounters}},
           .definition =
               "max_throughput, avg_throughput and total_communication in the detail; the "
               "number is max_throughput",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::nvlink_all
