#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using trace::KernelClass;

double GigabytesPerSecond(const LinkSeries& series) {
  return series.total_bytes() / static_cast<double>(series.observed_ns());
}

Value GpuValue(const GpuTraffic& gpu) {
  return gpu.gpu < 0 ? Value() : Value(gpu.gpu);
}

// Counts what was left out.
void NoteLeftOut(const LinkTraffic& traffic, Value& detail) {
  std::int64_t failed = 0;
  std::int64_t resets = 0;
  std::int64_t timeless = 0;
  for (const GpuTraffic& gpu : traffic.gpus) {
    for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
      failed += series->num_failed;
      resets += series->num_resets;
      timeless += series->num_timeless;
    }
  }
  detail.Set("source", traffic.gpus.front().source);
  detail.Set("left_out_failed_samples", failed);
  detail.Set("left_out_counter_resets", resets);
  detail.Set("left_out_without_time", timeless);
}

std::vector<const LinkInterval*> ByRate(const LinkSeries& series, std::size_t count) {
  std::vector<const LinkInterval*> order;
  for (const LinkInterval& interval : series.intervals) {
    order.push_back(&interval);
  }
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::ranges::partial_sort(order, middle, [](const LinkInterval* a, const LinkInterval* b) {
    const double rate_a = a->BytesPerSecond();
    const double rate_b = b->BytesPerSecond();
    return rate_a != rate_b ? rate_a > rate_b : a->time.begin_ns < b->time.begin_ns;
  });
  order.erase(middle, order.end());
  return order;
}

Value GpuTotals(const LinkTraffic& traffic) {
  Value rows = Value::List();
  for (const GpuTraffic& gpu : traffic.gpus) {
    Value row = Value::Object().Set("gpu", GpuValue(gpu));
    for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
      const std::string name(DirectionName(series->direction));
      const bool is_known = !series->intervals.empty();
      row.Set(name + "_bytes", is_known ? Value(series->total_bytes()) : Value());
      row.Set(name + "_GB_per_s", is_known ? Value(GigabytesPerSecond(*series)) : Value());
      row.Set(name + "_observed_s", static_cast<double>(series->observed_ns()) / 1e9);
      row.Set(name + "_intervals", series->intervals.size());
    }
    rows.Add(std::move(row));
  }
  return rows;
}

std::optional<double> SumOfBytes(const LinkTraffic& traffic, LinkDirection direction) {
  std::optional<double> sum;
  for (const GpuTraffic& gpu : traffic.gpus) {
    if (!gpu.Of(direction).intervals.empty()) {
      sum = sum.value_or(0) + gpu.Of(direction).total_bytes();
    }
  }
  return sum;
}

MetricResult NotObserved(const LinkTraffic& traffic) {
  return NotAvailable(traffic.gpus.empty() ? traffic.reason
                                           : "no NVLink samples of the chosen direction");
}

// Bytes and time of one direction in one bucket.
struct Sum {
  double bytes = 0;
  std::int64_t observed_ns = 0;

  [[nodiscard]] std::optional<double> Rate() const {
    return observed_ns == 0 ? std::nullopt
                            : std::optional(bytes * 1e9 / static_cast<double>(observed_ns));
  }
};

struct Bucket {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Sum sent;
  Sum received;
};

void AddToBuckets(const LinkSeries& series, std::uint32_t first_round, std::uint32_t rounds_each,
                  std::vector<Bucket>& buckets) {
  for (const LinkInterval& interval : series.intervals) {
    Bucket& bucket = buckets[(interval.round - first_round) / rounds_each];
    const bool is_first = bucket.sent.observed_ns + bucket.received.observed_ns == 0;
    bucket.begin_ns =
        is_first ? interval.time.begin_ns : std::min(bucket.begin_ns, interval.time.begin_ns);
    bucket.end_ns = is_first ? interval.time.end_ns : std::max(bucket.end_ns, interval.time.end_ns);
    Sum& sum = series.direction == LinkDirection::kSent ? bucket.sent : bucket.received;
    sum.bytes += interval.bytes;
    sum.observed_ns += interval.time.length_ns();
  }
}

// The counters of the requested GPU, or of an unnumbered GPU when there are no others.
const GpuTraffic* TrafficOfGpu(const LinkTraffic& traffic, std::int32_t gpu) {
  const auto found = std::ranges::find(traffic.gpus, gpu, &GpuTraffic::gpu);
  if (found != traffic.gpus.end()) {
    return &*found;
  }
  return traffic.gpus.size() == 1 && traffic.gpus.front().gpu < 0 ? &traffic.gpus.front() : nullptr;
}

std::string WhyNoGpu(const LinkTraffic& traffic, std::int32_t gpu) {
  std::set<std::int32_t> known;
  for (const GpuTraffic& each : traffic.gpus) {
    known.insert(each.gpu);
  }
  std::string list;
  for (const std::int32_t each : known) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", each);
  }
  return fmt::format("no link counters of GPU {}; --gpu chooses among {}", gpu, list);
}

const DeviceView* DeviceOf(const RunView& run, const GpuTraffic& gpu) {
  const DeviceView* const device = DeviceOfTraffic(run, gpu);
  // A recording of a GPU without a number goes with the only device there is.
  return device == nullptr && gpu.gpu < 0 && run.devices.size() == 1 ? &run.devices.front()
                                                                     : device;
}

PeakWithKernels KernelsOf(const RunView& run, const TrafficPeak& peak, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const Interval time = peak.interval->time;
  PeakWithKernels result{.peak = peak, .device = &device};
  IntervalSet communication;
  for (const RowId row : device.activities) {
    const std::int64_t begin_ns = std::max(trace.activities.begin_ns[row], time.begin_ns);
    const std::int64_t end_ns =
        std::min(trace.activities.begin_ns[row] + trace.activities.duration_ns[row], time.end_ns);
    if (begin_ns >= end_ns || !(trace.activities.kind[row] == trace::ActivityKind::kKernel)) {
      continue;
    }
    const bool communicates = run.ClassOf(device, row) == KernelClass::kCommunication;
    if (communicates) {
      communication.Append(begin_ns, end_ns);
    }
    if (communicates || !run.options.nccl_only) {
      result.kernels.push_back({.activity = row, .overlap_ns = end_ns - begin_ns});
    }
  }
  std::ranges::stable_sort(result.kernels, std::greater{}, &KernelInPeak::overlap_ns);
  result.communication_ns = communication.length_ns();
  return result;
}

// Counters and kernels that were recorded at different times say nothing about each other.
bool OverlapInTime(const RunView& run, const LinkSeries& series, const DeviceView& device) {
  const trace::Span span = trace::RecordedSpan(run.TraceOf(device));
  return series.ObservedWithin({span.begin_ns, span.end_ns}) > 0;
}

}  // namespace

std::vector<LinkDirection> ChosenDirections(const AnalyzeOptions& options) {
  if (options.direction == LinkDirection::kBoth) {
    return {LinkDirection::kSent, LinkDirection::kReceived};
  }
  return {options.direction};
}

std::vector<TrafficPeak> HighestIntervals(const GpuTraffic& gpu, const AnalyzeOptions& options,
                                          std::size_t count) {
  std::vector<TrafficPeak> best;
  for (const LinkDirection direction : ChosenDirections(options)) {
    const LinkSeries& series = gpu.Of(direction);
    std::vector<TrafficPeak> peaks;
    for (const LinkInterval* const interval : ByRate(series, count)) {
      peaks.push_back({.gpu = &gpu, .series = &series, .interval = interval});
    }
    if (!peaks.empty() && (best.empty() || peaks.front().interval->BytesPerSecond() >
                                               best.front().interval->BytesPerSecond())) {
      best = std::move(peaks);
    }
  }
  return best;
}

MetricResult MaxThroughput(const LinkTraffic& traffic, const AnalyzeOptions& options) {
  TrafficPeak best;
  for (const GpuTraffic& gpu : traffic.gpus) {
    for (const TrafficPeak& peak : HighestIntervals(gpu, options, 1)) {
      if (best.gpu == nullptr ||
          peak.interval->BytesPerSecond() > best.interval->BytesPerSecond()) {
        best = peak;
      }
    }
  }
  if (best.gpu == nullptr) {
    return NotObserved(traffic);
  }
  MetricResult result{.value = best.interval->BytesPerSecond() / 1e9};
  result.detail.Set("gpu", GpuValue(*best.gpu));
  result.detail.Set("direction", DirectionName(best.series->direction));
  result.detail.Set("time_ns", best.interval->time.begin_ns);
  result.detail.Set("duration_us", static_cast<double>(best.interval->time.length_ns()) / 1e3);
  result.detail.Set("bytes", best.interval->bytes);
  // Shares of the links in the bytes of an interval; empty if links are not recorded separately.
  Value shares = Value::List();
  for (const LinkSeries& link : best.gpu->links) {
    const auto same_round =
        std::ranges::lower_bound(link.intervals, best.interval->round, {}, &LinkInterval::round);
    const bool belongs = link.direction == best.series->direction &&
                         same_round != link.intervals.end() &&
                         same_round->round == best.interval->round;
    if (belongs && !best.series->link && best.interval->bytes > 0) {
      shares.Add(Value::Object()
                     .Set("link", *link.link)
                     .Set("share_percent", 100 * same_round->bytes / best.interval->bytes));
    }
  }
  result.detail.Set("links", shares);
  NoteLeftOut(traffic, result.detail);
  return result;
}

MetricResult AverageThroughput(const LinkTraffic& traffic, const AnalyzeOptions& options) {
  MetricResult result;
  std::string_view direction_used;
  for (const LinkDirection direction : ChosenDirections(options)) {
    // The mean over GPUs of a direction's rate; nothing when none observed it.
    std::vector<double> rates;
    for (const GpuTraffic& gpu : traffic.gpus) {
      if (!gpu.Of(direction).intervals.empty()) {
        rates.push_back(GigabytesPerSecond(gpu.Of(direction)));
      }
    }
    const auto rate = rates.empty() ? std::nullopt : std::optional(Mean(rates));
    if (rate && (!result.value || *rate > *result.value)) {
      result.value = rate;
      direction_used = DirectionName(direction);
    }
  }
  if (!result.value) {
    return NotObserved(traffic);
  }
  result.detail.Set("direction", direction_used);
  NoteLeftOut(traffic, result.detail);
  result.detail.Set("per_gpu", GpuTotals(traffic));
  return result;
}

MetricResult TotalCommunication(const LinkTraffic& traffic, const AnalyzeOptions& options) {
  const auto sent = SumOfBytes(traffic, LinkDirection::kSent);
  const auto received = SumOfBytes(traffic, LinkDirection::kReceived);
  MetricResult result;
  switch (options.direction) {
    case LinkDirection::kSent:
      result.value = sent;
      break;
    case LinkDirection::kReceived:
      result.value = received;
      break;
    case LinkDirection::kBoth:
      result.value = sent && received ? std::optional((*sent + *received) / 2)
                     : sent           ? sent
                                      : received;
  }
  if (!result.value) {
    return NotObserved(traffic);
  }
  result.detail.Set("tx_bytes", sent ? Value(*sent) : Value());
  result.detail.Set("rx_bytes", received ? Value(*received) : Value());
  NoteLeftOut(traffic, result.detail);
  result.detail.Set("per_gpu", GpuTotals(traffic));
  return result;
}

std::vector<ThroughputPoint> ThroughputOverTime(const GpuTraffic& gpu, std::size_t max_points) {
  std::uint32_t first_round = UINT32_MAX;
  std::uint32_t last_round = 0;
  for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
    if (!series->intervals.empty()) {
      first_round = std::min(first_round, series->intervals.front().round);
      last_round = std::max(last_round, series->intervals.back().round);
    }
  }
  if (first_round > last_round) {
    return {};
  }
  const std::size_t num_rounds = last_round - first_round + 1;
  const std::size_t rounds_each = (num_rounds + max_points - 1) / max_points;
  std::vector<Bucket> buckets((num_rounds + rounds_each - 1) / rounds_each);
  for (const LinkSeries* const series : {&gpu.sent, &gpu.received}) {
    AddToBuckets(*series, first_round, static_cast<std::uint32_t>(rounds_each), buckets);
  }
  std::vector<ThroughputPoint> points;
  for (const Bucket& bucket : buckets) {
    if (bucket.sent.observed_ns + bucket.received.observed_ns > 0) {
      points.push_back({.begin_ns = bucket.begin_ns,
                        .end_ns = bucket.end_ns,
                        .sent_bytes_per_second = bucket.sent.Rate(),
                        .received_bytes_per_second = bucket.received.Rate()});
    }
  }
  return points;
}

PeakList FindPeakKernels(const RunView& run, const LinkTraffic& traffic, std::int32_t gpu,
                         std::size_t count) {
  if (traffic.gpus.empty()) {
    return {.peaks = {}, .reason = traffic.reason};
  }
  const GpuTraffic* const counted = TrafficOfGpu(traffic, gpu);
  if (counted == nullptr) {
    return {.peaks = {}, .reason = WhyNoGpu(traffic, gpu)};
  }
  const DeviceView* const device = DeviceOf(run, *counted);
  if (device == nullptr) {
    return {.peaks = {}, .reason = fmt::format("no trace of GPU {}", gpu)};
  }
  if (!ShareClock(run, *counted, device->rank_index)) {
    return {.peaks = {}, .reason = "the counter file and the trace share no clock"};
  }
  PeakList list;
  for (const TrafficPeak& peak : HighestIntervals(*counted, run.options, count)) {
    if (!OverlapInTime(run, *peak.series, *device)) {
      return {.peaks = {}, .reason = "the counters and the trace were recorded at different times"};
    }
    list.peaks.push_back(KernelsOf(run, peak, *device));
  }
  list.reason = list.peaks.empty() ? "no NVLink samples of the chosen direction" : "";
  return list;
}

}  // namespace orrery::analyze
