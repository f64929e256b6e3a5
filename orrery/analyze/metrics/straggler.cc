#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/step_time.h"
#include "orrery/analyze/straggler/arrivals.h"
#include "orrery/analyze/straggler/segment_use.h"
#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/analyze/straggler/straggler_analysis.h"
#include "orrery/analyze/straggler/straggler_cause.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/number_list.h"
#include "orrery/trace/trace.h"

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

Value CauseRow(const CauseTotal& cause) {
  return Value::Object()
      .Set("rank", static_cast<std::int64_t>(cause.rank))
      .Set("cause", SegmentUseName(cause.use))
      .Set("times", cause.count)
      .Set("excess_us", static_cast<double>(cause.excess_ns) / 1e3);
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
      const bool outside = cause.use == SegmentUse::kHostWait && cause.culprit.empty();
      by_culprit.Add(CauseRow(cause).Set(
          "culprit", outside ? "(host busy outside the profile)" : cause.culprit));
    }
  }
  detail.Set("arrivals_explained", arrivals.size());
  detail.Set("causes_by_rank", std::move(by_use));
  detail.Set("culprits", std::move(by_culprit));
}

MetricResult StragglerShare(const RunView& run) {
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
  const std::vector<RankArrivals> ranks = ArrivalsByRank(groups);
  const std::vector<SavedTime> saved = SavedWithoutLateness(run, ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const RankArrivals& rank = ranks[i];
    Value row = Value::Object();
    row.Set("rank", static_cast<std::int64_t>(rank.rank))
        .Set("times_last", rank.times_last)
        .Set("times_first", rank.times_first)
        .Set("wait_us", static_cast<double>(rank.wait_ns) / 1e3)
        .Set("blame_us", static_cast<double>(rank.blame_ns) / 1e3)
        .Set("gain_us", static_cast<double>(rank.gain_ns) / 1e3);
    if (i < saved.size()) {
      row.Set("saved_us", static_cast<double>(saved[i].alone_ns) / 1e3);
    }
    rows.Add(std::move(row));
  }
  result.detail.Set("per_rank", std::move(rows));
  DescribeCauses(ExplainArrivals(run), result.detail);
  return result;
}

MetricResult StragglerSlowdownMetric(const RunView& run) {
  const Result<StragglerAnalysis>& analysis = StragglersOf(run);
  if (!analysis) {
    return NotAvailable(analysis.error().message());
  }
  const StragglerSlowdown& slowdown = analysis->slowdown;
  MetricResult result{.value = slowdown.slowdown};
  const auto seconds = [](double ns) { return ns / 1e9; };
  result.detail.Set("ranks_used", slowdown.workers.size());
  result.detail.Set("steps_used", slowdown.steps.front().number < 0 ? Value("none")
                                                                    : Value(slowdown.steps.size()));
  result.detail.Set("measured_s", seconds(slowdown.measured_ns));
  result.detail.Set("nodelay_s", seconds(slowdown.nodelay_ns));
  result.detail.Set("ideal_s", seconds(slowdown.ideal_ns));
  result.detail.Set("launch_slowdown", slowdown.launch_slowdown);
  result.detail.Set("worker_share", slowdown.worst_workers.removed);
  result.detail.Set("last_stage_share",
                    slowdown.last_stage ? Value(slowdown.last_stage->removed) : Value());
  result.detail.Set("worst_class", slowdown.WorstClass());
  result.detail.Set("worst_rank", std::int64_t{slowdown.WorstWorker().rank});
  return result;
}

MetricResult LoadImbalanceRatio(const RunView& run) {
  std::vector<double> seconds;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    seconds.push_back(Seconds(device.total.compute_ns) / static_cast<double>(NumSteps(device)));
    rows.Add(DeviceRow(device).Set("compute_s", seconds.back()));
  }
  const double largest = *std::ranges::max_element(seconds);
  const double smallest = *std::ranges::min_element(seconds);
  if (largest <= 0) {
    return NotAvailable(kNoComputeReason);
  }
  MetricResult result{.value = largest / Mean(seconds)};
  NoteScope(run, result.detail);
  result.detail.Set("max_over_min", smallest > 0 ? Value(largest / smallest) : Value());
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

void DescribeTotals(const std::vector<double>& totals, Value& detail) {
  double sum = 0;
  for (const double total : totals) {
    sum += total;
  }
  double entropy = 0;
  double squares = 0;
  const double mean = Mean(totals);
  double smallest_used = 0;
  Value counts = Value::List();
  Value shares = Value::List();
  for (const double total : totals) {
    counts.Add(total);
    shares.Add(total / sum);
    entropy -= total > 0 ? total / sum * std::log2(total / sum) : 0;
    squares += (total - mean) * (total - mean);
    smallest_used =
        total > 0 && (smallest_used == 0 || total < smallest_used) ? total : smallest_used;
  }
  const auto n = static_cast<double>(totals.size());
  detail.Set("totals", std::move(counts)).Set("shares", std::move(shares));
  detail.Set("entropy_bits", entropy);
  detail.Set("normalised_entropy", n > 1 ? Value(entropy / std::log2(n)) : Value());
  detail.Set("coefficient_of_variation", std::sqrt(squares / n) / mean);
  detail.Set("max_over_min_used", *std::ranges::max_element(totals) / smallest_used);
}

// Tokens of each expert, from gate logs.
std::vector<double> TokensOfExperts(const RunView& run) {
  std::map<std::int64_t, double> tokens;
  for (const Measurement& measurement : run.measurements) {
    if (measurement.format != "gate log") {
      continue;
    }
    for (std::size_t row = 0; row < measurement.rows->num_rows(); ++row) {
      const auto expert = measurement.rows->Integer(row, "expert");
      const auto count = measurement.rows->Number(row, "tokens");
      if (expert && count) {
        tokens[*expert] += *count;
      }
    }
  }
  std::vector<double> totals;
  for (const auto& [expert, count] : tokens) {
    totals.push_back(count);
  }
  return totals;
}

// Elements sent to each rank by uneven all-to-alls; the hidden size cancels in the ratio.
std::vector<double> ElementsOfRanks(const RunView& run) {
  std::vector<double> totals;
  for (const DeviceView& device : run.devices) {
    const trace::Trace& trace = run.TraceOf(device);
    ForEachCollective(run, device, [&](RowId row) {
      // Elements that the rank sends to each member of its group.
      const std::vector<std::int64_t> splits =
          NumbersIn<std::int64_t>(trace.Text(trace.collectives.in_splits[row]));
      const bool uneven = std::ranges::adjacent_find(splits, std::not_equal_to<>()) != splits.end();
      if (uneven && (totals.empty() || totals.size() == splits.size())) {
        totals.resize(splits.size());
        for (std::size_t i = 0; i < splits.size(); ++i) {
          totals[i] += static_cast<double>(splits[i]);
        }
      }
    });
  }
  return totals;
}

MetricResult TokenToExpertAssignment(const RunView& run) {
  std::vector<double> totals = TokensOfExperts(run);
  const bool from_logs = !totals.empty();
  if (!from_logs) {
    totals = ElementsOfRanks(run);
  }
  if (totals.empty() || Mean(totals) <= 0) {
    return NotAvailable("no gate log and no all_to_allv split sizes");
  }
  MetricResult result{.value = *std::ranges::max_element(totals) / Mean(totals)};
  result.detail.Set("source", from_logs ? "tokens per expert of the gate logs"
                                        : "elements sent to each rank by uneven all-to-alls");
  result.detail.Set(from_logs ? "experts" : "ranks", totals.size());
  DescribeTotals(totals, result.detail);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{"straggler", "Share of the step that collectives wait for their last rank", "",
           &StragglerShare, Better::kLowerTime, "GPU activity, 2 ranks, matched collectives",
           Alias("straggler_metrics")},
          {"straggler_slowdown",
           "Step time relative to a step in which every operation takes its mean over ranks", "",
           &StragglerSlowdownMetric, Better::kLower, "", Alias("blocking_slowdown")},
          {"load_imbalance_ratio", "Compute time of the busiest rank relative to the mean", "",
           &LoadImbalanceRatio, Better::kLower, "GPU activity, 2 ranks"},
          {"token_to_expert_assignment", "Tokens of the busiest expert relative to the mean", "",
           &TokenToExpertAssignment, Better::kLower, ""}};
}

}  // namespace orrery::analyze::straggler
