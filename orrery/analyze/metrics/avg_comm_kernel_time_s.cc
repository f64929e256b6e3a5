#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::avg_comm_kernel_time_s {
namespace {

MetricResult Compute(const RunView& run) {
  std::vector<double> seconds;
  bool all_matched = true;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    seconds.push_back(static_cast<double>(record.transfer_ns) / 1e9);
    all_matched &= record.is_matched;
  }
  if (seconds.empty()) {
    return NotAvailable(kNoCommunicationReason);
  }
  MetricResult result{.value = Mean(seconds)};
  result.detail.Set("collectives", seconds.size());
  if (!all_matched) {
    result.detail.Set("bound", "upper");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "avg_comm_kernel_time_s",
           .meaning = "Mean transfer time of a collective, waiting left out",
           .unit = "s",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}},
           .definition =
               "Mean over matched collectives of the shortest duration over ranks; one rank "
               "only: the mean duration, an upper bound",
           .compute = &Compute,
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::avg_comm_kernel_time_s
