#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::iteration_wall_clock_time {
namespace {

MetricResult Compute(const RunView& run) {
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

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "iteration_wall_clock_time",
           .meaning = "Time of one step",
           .unit = "s",
           .needs = {},
           .definition = "Mean duration of the selected step markers, then the mean over ranks; "
                         "without markers the length of the recording / the card's iteration",
           .compute = &Compute,
           .aliases = {{.name = "avg_step_time"}},
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::iteration_wall_clock_time
