#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/link_summary.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::total_communication {
namespace {

MetricResult Compute(const RunView& run) {
  return TotalCommunication(LinkTrafficOf(run), run.options);
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "total_communication",
       .meaning = "Bytes over NVLink",
       .unit = "bytes",
       .needs = {{NeedKind::kLinkCounters}},
       .definition =
           "Sum over GPUs of the direction's bytes; without --direction half of both directions",
       .compute = &Compute}};
}

}  // namespace orrery::analyze::total_communication
