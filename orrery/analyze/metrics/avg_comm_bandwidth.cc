#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::avg_comm_bandwidth {
namespace {

MetricResult Compute(const RunView& run) {
  double bytes = 0;
  double ns = 0;
  std::int64_t count = 0;
  bool all_matched = true;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (record.BusBandwidth()) {
      bytes += *record.BusBytes();
      ns += static_cast<double>(record.transfer_ns);
      all_matched &= record.is_matched;
      ++count;
    }
  }
  if (count == 0) {
    return NotAvailable(kNoSizesReason);
  }
  MetricResult result{.value = bytes / ns};
  result.detail.Set("collectives", count);
  if (!all_matched) {
    result.detail.Set("bound", "lower");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "avg_comm_bandwidth_GBps",
           .meaning = "Bus bytes of all communication / its transfer time",
           .unit = "GB/s",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
           .definition = "Sum of bus bytes / sum of the shortest durations over ranks",
           .compute = &Compute,
           .better = Better::kHigher}};
}

}  // namespace orrery::analyze::avg_comm_bandwidth
