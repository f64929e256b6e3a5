#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/tokens.h"
#include "orrery/base/number_list.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::load_balance {
namespace {

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

// Tokens of each expert, from gate logs.
std::vector<double> FromGateLogs(const RunView& run) {
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

// Elements sent to each rank by uneven exchanges; the hidden size cancels in the ratio.
std::vector<double> FromSplits(const RunView& run) {
  std::vector<double> totals;
  for (const DeviceView& device : run.devices) {
    const trace::Trace& trace = run.TraceOf(device);
    ForEachCollective(run, device, [&](RowId row) {
      // What the rank sends to each member of its group.
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

MetricResult TokenToExpertAssignment(const RunView& run) {
  std::vector<double> totals = FromGateLogs(run);
  const bool from_logs = !totals.empty();
  if (!from_logs) {
    totals = FromSplits(run);
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
  return {{.name = "load_imbalance_ratio",
           .meaning = "How much more compute the busiest rank has than the average",
           .needs = {{NeedKind::kGpu}, {NeedKind::kRanks}},
           .definition = "Largest / mean over devices of the union of compute kernels per step. "
                         "ccl-bench counts waiting as work",
           .compute = &LoadImbalanceRatio,
           .better = Better::kLower},
          {.name = "token_to_expert_assignment",
           .meaning = "How many more tokens the busiest expert gets than the average",
           .definition = "Largest / mean of tokens per expert (gate logs), else of what uneven "
                         "all-to-alls send to each rank",
           .compute = &TokenToExpertAssignment,
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::load_balance
