#include <cstdint>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::allreduce_comm_time_s {
namespace {

MetricResult Compute(const RunView& run) {
  std::int64_t total_ns = 0;
  std::int64_t count = 0;
  bool all_matched = true;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (record.kind == trace::CollectiveKind::kAllReduce) {
      total_ns += record.transfer_ns;
      all_matched &= record.is_matched;
      ++count;
    }
  }
  MetricResult result{.value = Seconds(total_ns) / static_cast<double>(NumSteps(run))};
  result.detail.Set("collectives", count);
  if (!all_matched) {
    result.detail.Set("bound", "upper");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "allreduce_comm_time_s",
       .meaning = "Transfer time of all-reduces in a step, waiting left out",
       .unit = "s",
       .needs = {{NeedKind::kGpu},
                 {NeedKind::kComm},
                 {.kind = NeedKind::kCollective, .collective = trace::CollectiveKind::kAllReduce}},
       .definition = "Sum over all-reduces of the shortest duration over ranks, per step",
       .compute = &Compute}};
}

}  // namespace orrery::analyze::allreduce_comm_time_s
