#include <cstdint>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::dominant_kernel_concentration {
namespace {

MetricResult Compute(const RunView& run) {
  const KernelTotal* largest = nullptr;
  const KernelTotal* communication = nullptr;
  std::int64_t compute_ns = 0;
  const std::vector<KernelTotal> totals = TotalKernels(run);
  for (const KernelTotal& total : totals) {
    const bool communicates = total.kernel_class == trace::KernelClass::kCommunication;
    const KernelTotal*& first = communicates ? communication : largest;
    first = first == nullptr ? &total : first;
    compute_ns += communicates ? 0 : total.sum_ns;
  }
  if (largest == nullptr || compute_ns == 0) {
    return NotAvailable(kNoComputeReason);
  }
  MetricResult result{.value = Percent(largest->sum_ns, compute_ns)};
  result.detail.Set("kernel", largest->name)
      .Set("class", trace::KernelClassName(largest->kernel_class))
      .Set("count", largest->count)
      .Set("seconds", Seconds(largest->sum_ns));
  if (communication != nullptr) {
    result.detail.Set("top_communication_kernel", communication->name)
        .Set("its_seconds_without_waiting",
             Seconds(communication->sum_ns - communication->wait_ns));
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "dominant_kernel_concentration",
           .meaning = "Share of compute time in the one kernel that has most of it",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "100 * largest sum of durations of one compute kernel name / sum over all "
                         "compute kernels, all ranks together",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::dominant_kernel_concentration
