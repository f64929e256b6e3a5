#include "orrery/analyze/step_time.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/tokens.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::step_time {
namespace {

MetricResult IterationWallClockTime(const RunView& run) {
  const StepTime step_time = MeasureStepTime(run);
  if (!step_time.seconds) {
    return NotAvailable(kNoStepsReason);
  }
  MetricResult result{.value = step_time.seconds};
  if (step_time.is_estimated) {
    result.detail.Set("estimated", true);
    result.detail.Set("source", "length of the recording / the card's iteration");
    return result;
  }
  std::vector<double> all;
  Value rows = Value::List();
  for (const RankSteps& rank : step_time.ranks) {
    rows.Add(Value::Object()
                 .Set("rank", static_cast<std::int64_t>(rank.rank))
                 .Set("steps", rank.seconds.size())
                 .Set("mean_s", Mean(rank.seconds)));
    all.insert(all.end(), rank.seconds.begin(), rank.seconds.end());
  }
  result.detail.Set("min_s", *std::ranges::min_element(all));
  result.detail.Set("p50_s", Quantile(all, 0.5));
  result.detail.Set("p90_s", Quantile(all, 0.9));
  result.detail.Set("p99_s", Quantile(all, 0.99));
  result.detail.Set("max_s", *std::ranges::max_element(all));
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

MetricResult TotalTraceTime(const RunView& run) {
  bool is_device_time = false;
  const Interval whole = RecordedTime(run, is_device_time);
  MetricResult result{.value = Seconds(whole.length_ns())};
  result.detail.Set("source", is_device_time ? "device activities" : "host events");
  return result;
}

MetricResult ThroughputTokensSec(const RunView& run) {
  const TokenRate rate = MeasureTokenRate(run);
  if (!rate.tokens_per_second) {
    return NotAvailable(rate.reason);
  }
  MetricResult result{.value = rate.tokens_per_second};
  result.detail.Set("source", rate.source);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "iteration_wall_clock_time",
       .meaning = "Time of one step",
       .unit = "s",
       .definition = "Mean duration of the selected step markers, then the mean over ranks; "
                     "without markers the length of the recording / the card's iteration",
       .compute = &IterationWallClockTime,
       .aliases = {{.name = "avg_step_time"}},
       .better = Better::kLower},
      {.name = "total_trace_time",
       .meaning = "Length of the recording",
       .unit = "s",
       .needs = {{NeedKind::kEvents}},
       .definition = "Latest end - earliest begin of device activities over all ranks on the "
                     "common clock; of host events where there are none",
       .compute = &TotalTraceTime,
       .aliases = {{.name = "wall_time_s",
                    .difference = "ccl-bench mixes host and device events"}}},
      {.name = "throughput_tokens_sec",
       .meaning = "Tokens per second",
       .unit = "tokens/s",
       .definition = "Training: batch_size * seq_len / step time. Serving results: output tokens "
                     "/ duration. Engine steps: tokens named by the markers / their durations",
       .compute = &ThroughputTokensSec,
       .aliases = {{.name = "throughput",
                    .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
                   {.name = "estimated_throughput_tokens_per_s",
                    .difference = "ccl-bench divides XLA model FLOPs by 6 * parameters"},
                   {.name = "throughput_group_6"}},
       .better = Better::kHigher}};
}

}  // namespace orrery::analyze::step_time
