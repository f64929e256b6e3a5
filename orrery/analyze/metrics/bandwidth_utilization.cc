#include <vector>

#include "orrery/analyze/bandwidth.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::bandwidth_utilization {
namespace {

MetricResult Compute(const RunView& run) {
  std::vector<double> shares;
  std::vector<double> peaks;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    const auto rate = record.BusBandwidth();
    const auto peak = LinkPeak(run, record);
    if (record.kind == trace::CollectiveKind::kAllReduce && rate && peak) {
      shares.push_back(*rate / *peak);
      peaks.push_back(*peak / 1e9);
    }
  }
  if (shares.empty()) {
    return NotAvailable(
        "no all-reduce with a known size and link peak (bandwidth_gbps of the workload card)");
  }
  MetricResult result{.value = Mean(shares)};
  result.detail.Set("collectives", shares.size());
  result.detail.Set("p50", Median(shares));
  result.detail.Set("link_peak_GB_per_s", Median(peaks));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "bandwidth_utilization",
           .meaning = "Bus bandwidth of all-reduces against the peak of the slowest link they use",
           .unit = "",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}, {NeedKind::kSizes}},
           .definition = "Mean over all-reduces of bus bandwidth / link peak: the card's "
                         "bandwidth_gbps / 8, [1] inside a node, [0] across; else the catalogue",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::bandwidth_utilization
