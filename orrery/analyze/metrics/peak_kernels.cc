#include "orrery/analyze/peak_kernels.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/collective_names.h"

namespace orrery::analyze::peak_kernels {
namespace {

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

MetricResult Compute(const RunView& run) {
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
  return {{.name = "peak_kernels",
           .meaning = "Kernels during the highest NVLink throughput of a GPU",
           .unit = "%",
           .needs = {{NeedKind::kLinkCounters}, {NeedKind::kGpu}, {NeedKind::kCommonClock}},
           .definition = "Share of the highest interval of --gpu that communication kernels cover; "
                         "detail: the kernels of the --top intervals, longest overlap first",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::peak_kernels
