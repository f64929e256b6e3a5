#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze::nvlink {
namespace {

MetricResult MaxThroughput(const RunView& run) {
  return MaxThroughput(LinkTrafficOf(run), run.options);
}

MetricResult AvgThroughput(const RunView& run) {
  return AverageThroughput(LinkTrafficOf(run), run.options);
}

MetricResult TotalCommunication(const RunView& run) {
  return TotalCommunication(LinkTrafficOf(run), run.options);
}

constexpr std::size_t kMaxPoints = 2'000;

Value Gigabytes(std::optional<double> bytes_per_second) {
  return bytes_per_second ? Value(*bytes_per_second / 1e9) : Value();
}

Value Described(MetricResult part) {
  Value described = Value::Object().Set("value", part.value ? Value(*part.value) : Value());
  for (const auto& [name, field] : part.detail.fields()) {
    described.Set(name, field);
  }
  return described;
}

MetricResult NvlinkAll(const RunView& run) {
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
  result.detail.Set("series", std::move(rows));
  return result;
}

double Microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

Value PeakRow(const RunView& run, const PeakWithKernels& peak) {
  const LinkInterval& interval = *peak.peak.interval;
  Value kernels = Value::List();
  for (const KernelInPeak& kernel : peak.kernels) {
    const trace::Trace& trace = run.TraceOf(*peak.device);
    const RowId collective = trace.activities.collective[kernel.activity];
    Value row = Value::Object();
    row.Set("kernel", trace.Text(trace.activities.name[kernel.activity]));
    row.Set("class", trace::KernelClassName(run.ClassOf(*peak.device, kernel.activity)));
    row.Set("collective", collective == kNoRow
                              ? Value()
                              : Value(CollectiveKindName(trace.collectives.kind[collective])));
    row.Set("overlap_us", Microseconds(kernel.overlap_ns));
    row.Set("overlap_percent", *Percent(kernel.overlap_ns, peak.peak.interval->time.length_ns()));
    kernels.Add(row);
  }
  return Value::Object()
      .Set("time_ns", interval.time.begin_ns)
      .Set("duration_us", Microseconds(interval.time.length_ns()))
      .Set("GB_per_s", interval.BytesPerSecond() / 1e9)
      .Set("bytes", interval.bytes)
      .Set("direction", DirectionName(peak.peak.series->direction))
      .Set("communication_percent", *Percent(peak.communication_ns, interval.time.length_ns()))
      .Set("num_kernels", peak.kernels.size())
      .Set("kernels", std::move(kernels));
}

MetricResult PeakKernels(const RunView& run) {
  const LinkTraffic traffic = LinkTrafficOf(run);
  const PeakList list = FindPeakKernels(run, traffic, run.options.gpu,
                                        static_cast<std::size_t>(std::max(run.options.top, 1)));
  if (list.peaks.empty()) {
    return NotAvailable(list.reason);
  }
  const PeakWithKernels& first = list.peaks.front();
  MetricResult result{.value =
                          Percent(first.communication_ns, first.peak.interval->time.length_ns())};
  result.detail.Set("gpu", run.options.gpu);
  result.detail.Set("rank", first.device->rank);
  result.detail.Set("source", first.peak.gpu->source);
  Value rows = Value::List();
  for (const PeakWithKernels& peak : list.peaks) {
    rows.Add(PeakRow(run, peak));
  }
  result.detail.Set("peaks", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{"max_throughput", "Highest NVLink throughput per GPU in one direction", "GB/s",
           &MaxThroughput, Better::kNeither, "link counters"},
          {"avg_throughput", "Mean NVLink throughput per GPU in one direction", "GB/s",
           &AvgThroughput, Better::kNeither, "link counters"},
          {"total_communication", "Bytes over NVLink", "bytes", &TotalCommunication,
           Better::kNeither, "link counters"},
          {"nvlink_all", "Highest and mean NVLink throughput, bytes, and the throughput over time",
           "GB/s", &NvlinkAll, Better::kNeither, "link counters"},
          {"peak_kernels", "Kernels during the highest NVLink throughput of a GPU", "%",
           &PeakKernels, Better::kNeither, "link counters, GPU activity, a common clock"}};
}

}  // namespace orrery::analyze::nvlink
