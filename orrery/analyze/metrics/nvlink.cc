#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/link_summary.h"
#include "orrery/analyze/link_throughput.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/peak_kernels.h"
#include "orrery/trace/collective_names.h"

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
    AddPoints(gpu, rows);
  }
  result.detail.Set("series", std::move(rows));
  return result;
}

double Microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

Value KernelRow(const RunView& run, const PeakWithKernels& peak, const KernelInPeak& kernel) {
  const trace::Trace& trace = run.TraceOf(*peak.device);
  const RowId collective = trace.activities.collective[kernel.activity];
  Value row = Value::Object();
  row.Set("kernel", trace.Text(trace.activities.name[kernel.activity]));
  row.Set("class", trace::KernelClassName(run.ClassOf(*peak.device, kernel.activity)));
  row.Set("collective", collective == kNoRow
                            ? Value()
                            : Value(trace::CollectiveKindName(trace.collectives.kind[collective])));
  row.Set("overlap_us", Microseconds(kernel.overlap_ns));
  row.Set("overlap_percent", *Percent(kernel.overlap_ns, peak.peak.interval->time.length_ns()));
  return row;
}

Value PeakRow(const RunView& run, const PeakWithKernels& peak) {
  const LinkInterval& interval = *peak.peak.interval;
  Value kernels = Value::List();
  for (const KernelInPeak& kernel : peak.kernels) {
    kernels.Add(KernelRow(run, peak, kernel));
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
  return {
      {.name = "max_throughput",
       .meaning = "Highest NVLink throughput of a GPU in one direction",
       .unit = "GB/s",
       .needs = {{NeedKind::kLinkCounters}},
       .definition = "Largest interval between polling rounds of bytes over all links (--link: "
                     "one) / time; without --direction the larger one",
       .compute = &MaxThroughput},
      {.name = "avg_throughput",
       .meaning = "Mean NVLink throughput of a GPU in one direction",
       .unit = "GB/s",
       .needs = {{NeedKind::kLinkCounters}},
       .definition = "Bytes of the direction / observed time, the mean over GPUs; without "
                     "--direction the larger one",
       .compute = &AvgThroughput},
      {.name = "total_communication",
       .meaning = "Bytes over NVLink",
       .unit = "bytes",
       .needs = {{NeedKind::kLinkCounters}},
       .definition =
           "Sum over GPUs of the direction's bytes; without --direction half of both directions",
       .compute = &TotalCommunication},
      {.name = "nvlink_all",
       .meaning = "Highest and mean NVLink throughput, bytes, and the throughput over time",
       .unit = "GB/s",
       .needs = {{NeedKind::kLinkCounters}},
       .definition = "max_throughput, avg_throughput and total_communication in the detail; the "
                     "number is max_throughput",
       .compute = &NvlinkAll},
      {.name = "peak_kernels",
       .meaning = "Kernels during the highest NVLink throughput of a GPU",
       .unit = "%",
       .needs = {{NeedKind::kLinkCounters}, {NeedKind::kGpu}, {NeedKind::kCommonClock}},
       .definition = "Share of the highest interval of --gpu that communication kernels cover; "
                     "detail: the kernels of the --top intervals, longest overlap first",
       .compute = &PeakKernels}};
}

}  // namespace orrery::analyze::nvlink
