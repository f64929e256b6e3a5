#include <cstdint>
#include <map>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::comm_wait_fraction {
namespace {

struct RankTime {
  std::int64_t wait_ns = 0;
  std::int64_t duration_ns = 0;
};

MetricResult Compute(const RunView& run) {
  std::map<std::int32_t, RankTime> by_rank;
  RankTime all;
  std::int64_t transfers_ns = 0;
  std::int64_t num_collectives = 0;
  const auto& members = run.matched.members;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (!run.Counts(instance)) {
      continue;
    }
    ++num_collectives;
    transfers_ns += run.waits.transfer_ns[instance];
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      const std::int64_t duration_ns = members.end_ns[member] - members.begin_ns[member];
      RankTime& rank = by_rank[trace::RankOf(*run.set, members.rank_index[member])];
      rank.wait_ns += run.waits.wait_ns[member];
      rank.duration_ns += duration_ns;
      all.wait_ns += run.waits.wait_ns[member];
      all.duration_ns += duration_ns;
    }
  }
  if (all.duration_ns == 0) {
    return NotAvailable(kNoMatchReason);
  }
  MetricResult result{.value = Percent(all.wait_ns, all.duration_ns)};
  result.detail.Set("collectives", num_collectives);
  result.detail.Set("left_out_as_doubtful", run.waits.num_doubtful);
  result.detail.Set("wait_s", Seconds(all.wait_ns));
  result.detail.Set("duration_s", Seconds(all.duration_ns));
  result.detail.Set("sum_of_minimum_durations_s", Seconds(transfers_ns));
  Value rows = Value::List();
  for (const auto& [rank, time] : by_rank) {
    rows.Add(Value::Object()
                 .Set("rank", static_cast<std::int64_t>(rank))
                 .Set("wait_us", static_cast<double>(time.wait_ns) / 1e3)
                 .Set("transfer_us", static_cast<double>(time.duration_ns - time.wait_ns) / 1e3)
                 .Set("duration_us", static_cast<double>(time.duration_ns) / 1e3));
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "comm_wait_fraction",
           .meaning = "Share of the time inside communication kernels that is waiting for others",
           .unit = "%",
           .needs = {{NeedKind::kGpu}, {NeedKind::kMatched}},
           .definition = "100 * sum of waits / sum of durations over matched collectives",
           .compute = &Compute,
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::comm_wait_fraction
