#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/analyze/metric.h"

namespace orrery::analyze::clock_offsets {
namespace {

MetricResult Compute(const RunView& run) {
  double largest_us = 0;
  Value rows = Value::List();
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    const trace::RankClock& clock = run.alignment.ranks[place];
    const double offset_us = static_cast<double>(clock.offset_ns) / 1e3;
    largest_us = std::max(largest_us, std::abs(offset_us));
    rows.Add(Value::Object()
                 .Set("rank", static_cast<std::int64_t>(trace::RankOf(*run.set, place)))
                 .Set("offset_us", offset_us)
                 .Set("own_offset_us", clock.own_offset_ns / 1e3)
                 .Set("scatter_us", clock.deviation_ns / 1e3)
                 .Set("drift_us_per_s", static_cast<double>(clock.drift_ps_per_s) / 1e6)
                 .Set("records", clock.num_records)
                 .Set("component", clock.component)
                 .Set("applied", clock.apply));
  }
  MetricResult result{.value = largest_us};
  result.detail.Set("median_end_spread_us",
                    static_cast<double>(run.matched.median_end_spread_ns) / 1e3);
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "clock_offsets",
           .meaning = "Largest difference of a rank's clock from the others",
           .unit = "µs",
           .needs = {{NeedKind::kRanks}, {NeedKind::kMatched}},
           .definition = "Median distance of a rank's collective ends from the median end; applied "
                         "where it matters (--align)",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::clock_offsets
