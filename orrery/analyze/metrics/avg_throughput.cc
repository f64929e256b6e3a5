#include <vector>

#include "orrery/analyze/link_counters.h"
#include "orrery/analyze/link_summary.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::avg_throughput {
namespace {

MetricResult Compute(const RunView& run) {
  return AverageThroughput(LinkTrafficOf(run), run.options);
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "avg_throughput",
           .meaning = "Mean NVLink throughput of a GPU in one direction",
           .unit = "GB/s",
           .needs = {{NeedKind::kLinkCounters}},
           .definition = "Bytes of the direction / observed time, the mean over GPUs; without "
                         "--direction the larger one",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::avg_throughput
