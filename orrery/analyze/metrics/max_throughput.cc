#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/link_summary.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::max_throughput {
namespace {

MetricResult Compute(const RunView& run) {
  return MaxThroughput(LinkTrafficOf(run), run.options);
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "max_throughput",
           .meaning = "Highest NVLink throughput of a GPU in one direction",
           .unit = "GB/s",
           .needs = {{NeedKind::kLinkCounters}},
           .definition = "Largest interval between polling rounds of bytes over all links (--link: "
                         "one) / time; without --direction the larger one",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::max_throughput
