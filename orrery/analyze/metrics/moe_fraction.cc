#include <cstdint>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::moe_fraction {
namespace {

MetricResult Compute(const RunView& run) {
  std::int64_t routing_ns = 0;
  std::int64_t expert_ns = 0;
  std::int64_t compute_ns = 0;
  for (const KernelTotal& total : TotalKernels(run)) {
    routing_ns +=
        total.kernel_class == trace::KernelClass::kMoeRouting ? total.durations.sum_ns : 0;
    expert_ns += total.kernel_class == trace::KernelClass::kMoeExpert ? total.durations.sum_ns : 0;
    compute_ns += trace::IsCompute(total.kernel_class) ? total.durations.sum_ns : 0;
  }
  const auto says_moe = CardText(*run.set, "moe");
  if (routing_ns + expert_ns == 0 && says_moe != "true") {
    return NotAvailable("not a mixture-of-experts run");
  }
  if (compute_ns == 0) {
    return NotAvailable(kNoComputeReason);
  }
  MetricResult result{.value = Percent(routing_ns + expert_ns, compute_ns)};
  result.detail.Set("routing_s", Seconds(routing_ns)).Set("expert_s", Seconds(expert_ns));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "moe_fraction",
           .meaning = "Share of compute time in routing and experts",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "100 * sum of durations of MoE kernels / sum over compute kernels; "
                         "communication is counted elsewhere",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::moe_fraction
