#include "orrery/analyze/link_summary.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "orrery/base/statistics.h"

namespace orrery::analyze {
namespace {

double GigabytesPerSecond(const LinkSeries& series) {
  return series.total_bytes() / static_cast<double>(series.observed_ns());
}

Value GpuValue(const GpuTraffic& gpu) {
  return gpu.gpu < 0 ? Value() : Value(gpu.gpu);
}

// How the bytes of an interval are spread over the links; empty where links are not recorded
// separately.
Value LinkShares(const TrafficPeak& peak) {
  Value shares = Value::List();
  for (const LinkSeries& link : peak.gpu->links) {
    const auto same_round =
        std::ranges::lower_bound(link.intervals, peak.interval->round, {}, &LinkInterval::round);
    const bool belongs = link.direction == peak.series->direction &&
                         same_round != link.intervals.end() &&
                         same_round->round == peak.interval->round;
    if (belongs && !peak.series->link && peak.interval->bytes > 0) {
      shares.Add(Value::Object()
                     .Set("link", *link.link)
                     .Set("share_percent", 100 * same_round->bytes / peak.interval->bytes));
    }
  }
  return shares;
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

// The mean over GPUs of a direction's rate; nothing when none observed it.
std::optional<double> MeanRate(const LinkTraffic& traffic, LinkDirection direction) {
  std::vector<double> rates;
  for (const GpuTraffic& gpu : traffic.gpus) {
    if (!gpu.Of(direction).intervals.empty()) {
      rates.push_back(GigabytesPerSecond(gpu.Of(direction)));
    }
  }
  return rates.empty() ? std::nullopt : std::optional(Mean(rates));
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
  result.detail.Set("links", LinkShares(best));
  NoteLeftOut(traffic, result.detail);
  return result;
}

MetricResult AverageThroughput(const LinkTraffic& traffic, const AnalyzeOptions& options) {
  MetricResult result;
  std::string_view direction_used;
  for (const LinkDirection direction : ChosenDirections(options)) {
    const auto rate = MeanRate(traffic, direction);
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

}  // namespace orrery::analyze
