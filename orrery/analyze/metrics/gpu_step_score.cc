#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/step_time.h"

namespace orrery::analyze::gpu_step_score {
namespace {

MetricResult Compute(const RunView& run) {
  const Table* const parameters = FindTable(run, "step score");
  const auto get = [&](std::string_view column) {
    return parameters == nullptr || parameters->num_rows() == 0 ? std::nullopt
                                                                : parameters->Number(0, column);
  };
  const auto gpus = get("g0");
  const auto seconds = get("t0_s");
  const auto weight = get("w");
  if (!gpus || !seconds || !weight) {
    return NotAvailable("no reference (gpu_step_score_config.yaml with G0, T0 and w)");
  }
  const StepTime step = MeasureStepTime(run);
  if (!step.seconds) {
    return NotAvailable(kNoStepsReason);
  }
  const double used =
      CardNumber(*run.set, "total_count").value_or(static_cast<double>(run.set->ranks.size()));
  MetricResult result{.value = *weight * *gpus / used + (1 - *weight) * *seconds / *step.seconds};
  result.detail.Set("gpus", used).Set("step_s", *step.seconds);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "gpu_step_score",
           .meaning = "Weighted ratio of GPUs and step time to a reference",
           .definition = "w * G0 / G + (1 - w) * T0 / T; G0, T0 and w must be given",
           .compute = &Compute,
           .better = Better::kHigher}};
}

}  // namespace orrery::analyze::gpu_step_score
