#include "orrery/analyze/diff/diff.h"

#include "orrery/analyze/diff/run_costs.h"

namespace orrery::analyze::diff {

RunDiff Compare(const RunView& before, const RunView& after,
                const std::vector<NamedMetric>& metrics) {
  const std::vector<NamedCost> kernels_before = KernelCosts(before);
  const std::vector<NamedCost> kernels_after = KernelCosts(after);
  return {.step_before = MeasureStepParts(before),
          .step_after = MeasureStepParts(after),
          .metrics = CompareMetrics(before, after, metrics),
          .kernel_classes =
              MatchCosts(KernelClassCosts(kernels_before), KernelClassCosts(kernels_after)),
          .kernels = MatchCosts(kernels_before, kernels_after),
          .operators = MatchCosts(OperatorCosts(before), OperatorCosts(after)),
          .collectives = MatchCosts(CollectiveCosts(before), CollectiveCosts(after)),
          .copies = MatchCosts(CopyCosts(before), CopyCosts(after)),
          .memory = MatchMemory(PeakMemory(before), PeakMemory(after))};
}

}  // namespace orrery::analyze::diff
