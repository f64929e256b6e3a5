#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/trace.h"

namespace orrery::report {
namespace {

using analyze::GpuTraffic;
using analyze::LinkDirection;
using analyze::LinkSeries;

constexpr std::size_t kMaxPoints = 2'000;
constexpr std::size_t kMaxPeaks = 10;
constexpr std::size_t kMaxKernels = 3;  // named for each peak

std::string_view DirectionWord(LinkDirection direction) {
  return direction == LinkDirection::kReceived ? "received (rx)" : "sent (tx)";
}

std::string GpuLabel(const GpuTraffic& gpu) {
  return gpu.gpu < 0 ? "GPU" : fmt::format("GPU {}", gpu.gpu);
}

std::string Rate(double bytes_per_second) {
  return draw::FormatBandwidth({bytes_per_second});
}

draw::LineSegment SegmentOf(std::int64_t begin_ns, std::int64_t end_ns, std::int64_t start_ns,
                            double bytes_per_second) {
  return {.begin = static_cast<double>(begin_ns - start_ns),
          .end = static_cast<double>(end_ns - start_ns),
          .value = bytes_per_second};
}

std::int64_t StartOf(const GpuTraffic& gpu) {
  std::int64_t start_ns = INT64_MAX;
  for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
    if (!series->intervals.empty()) {
      start_ns = std::min(start_ns, series->intervals.front().time.begin_ns);
    }
  }
  return start_ns;
}

draw::LineChart ChartOf(const GpuTraffic& gpu, const std::vector<analyze::TrafficPeak>& peaks,
                        std::optional<double> link_peak) {
  draw::LineChart chart{
      .lines = {{.series = {.name = "sent (tx)", .style = "compute"}},
                {.series = {.name = "received (rx)", .style = "transfer"}}},
      .x_quantity = draw::Quantity::kNanoseconds,
      .y_quantity = draw::Quantity::kBytesPerSecond,
      .x_title = "time since the first sample",
      .y_title = "throughput, one direction",
      .description = fmt::format("NVLink throughput of {} over time", GpuLabel(gpu))};
  const std::int64_t start_ns = StartOf(gpu);
  for (const analyze::ThroughputPoint& point : analyze::ThroughputOverTime(gpu, kMaxPoints)) {
    const auto add = [&](std::size_t line, std::optional<double> rate) {
      if (rate) {
        chart.lines[line].segments.push_back(
            SegmentOf(point.begin_ns, point.end_ns, start_ns, *rate));
      }
    };
    add(0, point.sent_bytes_per_second);
    add(1, point.received_bytes_per_second);
  }
  if (!peaks.empty()) {
    const analyze::TrafficPeak& peak = peaks.front();
    const double rate = peak.interval->BytesPerSecond();
    chart.marks.push_back({.line = peak.series->direction == LinkDirection::kReceived ? 1U : 0U,
                           .segment = SegmentOf(peak.interval->time.begin_ns,
                                                peak.interval->time.end_ns, start_ns, rate),
                           .label = fmt::format("peak {}", Rate(rate))});
  }
  if (link_peak) {
    chart.roof = draw::LineRoof{.label = "all links", .value = *link_peak};
  }
  return chart;
}

Document::Table NumbersTable(const GpuTraffic& gpu) {
  Document::Table table{
      .heading = "Numbers",
      .columns = {AsText("direction"), AsNumber("highest"), AsNumber("mean"), AsNumber("bytes"),
                  AsTime("observed"), AsCount("intervals"), AsCount("left out: failed samples"),
                  AsCount("counter resets"), AsCount("no time between")}};
  for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
    double highest = 0;
    for (const analyze::LinkInterval& interval : series->intervals) {
      highest = std::max(highest, interval.BytesPerSecond());
    }
    const std::int64_t observed_ns = series->observed_ns();
    const bool is_known = observed_ns > 0;
    table.rows.push_back(
        {DirectionWord(series->direction), is_known ? Rate(highest) : "–",
         is_known ? Rate(series->total_bytes() * 1e9 / static_cast<double>(observed_ns)) : "–",
         is_known ? draw::FormatBytes({static_cast<std::int64_t>(series->total_bytes())}) : "–",
         observed_ns, series->intervals.size(), series->num_failed, series->num_resets,
         series->num_timeless});
  }
  return table;
}

std::string KernelsText(const analyze::RunView& run, const analyze::PeakWithKernels& peak) {
  const trace::Trace& trace = run.TraceOf(*peak.device);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxKernels, peak.kernels.size()); ++i) {
    const analyze::KernelInPeak& kernel = peak.kernels[i];
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ",
                        trace.Text(trace.activities.name[kernel.activity]),
                        draw::FormatDuration({kernel.overlap_ns}));
  }
  const std::size_t rest = peak.kernels.size() - std::min(kMaxKernels, peak.kernels.size());
  return text.empty() ? "no kernel" : text + (rest > 0 ? fmt::format(" and {} more", rest) : "");
}

Document::Table PeaksTable(const analyze::RunView& run, const GpuTraffic& gpu,
                           const std::vector<analyze::TrafficPeak>& peaks,
                           const analyze::PeakList& with_kernels) {
  Document::Table table{
      .heading = "Highest throughput",
      .columns = {AsText("kernels"), AsNumber("throughput"), AsText("direction"),
                  AsTime("begins at"), AsTime("lasts"), AsShare("communication")}};
  if (!with_kernels.reason.empty()) {
    table.caption = fmt::format("The kernels are not known: {}.", with_kernels.reason);
  }
  const std::int64_t start_ns = StartOf(gpu);
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    const Interval time = peaks[i].interval->time;
    const bool has_kernels = i < with_kernels.peaks.size();
    const Value share = has_kernels
                            ? Value(static_cast<double>(with_kernels.peaks[i].communication_ns) /
                                    static_cast<double>(time.length_ns()))
                            : Value();
    table.rows.push_back({has_kernels ? KernelsText(run, with_kernels.peaks[i]) : "not known",
                          Rate(peaks[i].interval->BytesPerSecond()),
                          DirectionWord(peaks[i].series->direction), time.begin_ns - start_ns,
                          time.length_ns(), share});
  }
  return table;
}

void AddGpu(const analyze::RunView& run, const analyze::LinkTraffic& traffic, const GpuTraffic& gpu,
            Document& document) {
  const auto peaks = analyze::HighestIntervals(gpu, run.options, kMaxPeaks);
  const auto with_kernels = analyze::FindPeakKernels(run, traffic, gpu.gpu, kMaxPeaks);
  const analyze::DeviceView* const device = analyze::DeviceOfTraffic(run, gpu);
  const draw::LineChart chart = ChartOf(
      gpu, peaks, device == nullptr ? std::nullopt : analyze::NvlinkPeak(run.TraceOf(*device)));
  document.AddSection(fmt::format("{} ({})", GpuLabel(gpu), gpu.source))
      .Add(Document::Picture{
          .svg = draw::RenderLineChart(chart),
          .caption = "Bytes of user data over all links, per direction. A gap is time that was not "
                     "observed; long recordings are drawn as means.",
          .legend = draw::LineLegend(chart)})
      .Add(NumbersTable(gpu))
      .Add(PeaksTable(run, gpu, peaks, with_kernels));
}

}  // namespace

Result<Document> NvlinkDocument(const analyze::RunView& run, std::string_view title) {
  if (auto reason = analyze::WhyUnmet("link counters", run)) {
    return Fail(Error::Kind::kNotFound, *std::move(reason));
  }
  const analyze::LinkTraffic traffic = analyze::LinkTrafficOf(run);
  if (traffic.gpus.empty()) {
    return Fail(Error::Kind::kNotFound, traffic.reason);
  }
  Document document{.title = std::string(title), .kind = "Orrery NVLink report"};
  for (const GpuTraffic& gpu : traffic.gpus) {
    AddGpu(run, traffic, gpu, document);
  }
  return document;
}

}  // namespace orrery::report
