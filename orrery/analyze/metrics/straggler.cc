#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"
#include "orrery/analyze/straggler_cause.h"
#include "orrery/analyze/stragglers.h"

namespace orrery::analyze::straggler {
namespace {

// The steps' time that lateness is held against; without markers the windows.
double SummedStepSeconds(const RunView& run) {
  const StepTime time = MeasureStepTime(run);
  double sum = 0;
  for (const RankSteps& rank : time.ranks) {
    for (const double seconds : rank.seconds) {
      sum += seconds;
    }
  }
  if (!time.ranks.empty()) {
    return sum / static_cast<double>(time.ranks.size());
  }
  for (const DeviceView& device : run.devices) {
    sum += static_cast<double>(device.total.window_ns) / 1e9;
  }
  return run.devices.empty() ? 0 : sum / static_cast<double>(run.devices.size());
}

Value RankRow(const RankArrivals& rank) {
  return Value::Object()
      .Set("rank", static_cast<std::int64_t>(rank.rank))
      .Set("times_last", rank.times_last)
      .Set("times_first", rank.times_first)
      .Set("wait_us", static_cast<double>(rank.wait_ns) / 1e3)
      .Set("blame_us", static_cast<double>(rank.blame_ns) / 1e3)
      .Set("gain_us", static_cast<double>(rank.gain_ns) / 1e3);
}

Value CauseRow(const CauseTotal& cause) {
  return Value::Object()
      .Set("rank", static_cast<std::int64_t>(cause.rank))
      .Set("cause", SegmentUseName(cause.use))
      .Set("times", cause.count)
      .Set("excess_us", static_cast<double>(cause.excess_ns) / 1e3);
}

Value CulpritRow(const CauseTotal& cause) {
  const bool outside = cause.use == SegmentUse::kHostWait && cause.culprit.empty();
  return CauseRow(cause).Set("culprit",
                             outside ? "(host busy outside the profile)" : cause.culprit);
}

void DescribeCauses(const std::vector<LateArrival>& arrivals, Value& detail) {
  Value by_use = Value::List();
  for (const CauseTotal& cause : TotalCauses(arrivals, false)) {
    by_use.Add(CauseRow(cause));
  }
  Value by_culprit = Value::List();
  constexpr std::size_t kMaxCauses = 20;
  for (const CauseTotal& cause : TotalCauses(arrivals, true)) {
    if (by_culprit.items().size() < kMaxCauses) {
      by_culprit.Add(CulpritRow(cause));
    }
  }
  detail.Set("arrivals_explained", arrivals.size());
  detail.Set("causes_by_rank", std::move(by_use));
  detail.Set("culprits", std::move(by_culprit));
}

MetricResult Compute(const RunView& run) {
  const std::vector<GroupArrivals> groups = CountArrivals(run);
  const double seconds = SummedStepSeconds(run);
  if (groups.empty() || seconds <= 0) {
    return NotAvailable(kNoMatchReason);
  }
  const auto worst = std::ranges::max_element(groups, {}, &GroupArrivals::lateness_ns);
  MetricResult result{.value = worst->lateness_ns / 1e9 / seconds};
  const std::string& key = run.matched.groups[worst->group].key;
  result.detail.Set("group", key.empty() ? "(not named)" : key);
  result.detail.Set("collectives", worst->num_collectives);
  result.detail.Set("left_out_as_doubtful", run.waits.num_doubtful);
  Value rows = Value::List();
  for (const RankArrivals& rank : ArrivalsByRank(groups)) {
    rows.Add(RankRow(rank));
  }
  result.detail.Set("per_rank", std::move(rows));
  DescribeCauses(ExplainArrivals(run), result.detail);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "straggler",
           .meaning = "Share of the step that collectives wait for their last rank",
           .needs = {{NeedKind::kGpu}, {NeedKind::kRanks}, {NeedKind::kMatched}},
           .definition =
               "Sum over a group's matched collectives of (last - median arrival) / summed "
               "step time, of the worst group; detail per rank: times last and first, "
               "wait, blame (others' waits when last), gain (last - second last)",
           .compute = &Compute,
           .aliases = {{.name = "straggler_metrics"}},
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::straggler
