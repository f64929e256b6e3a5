#include <string>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/model_flops.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::flops_per_token_used {
namespace {

MetricResult Compute(const RunView& run) {
  std::string reason;
  const auto model = ReadModelShape(*run.set, reason);
  if (!model) {
    return NotAvailable(reason);
  }
  const auto length = CardNumber(*run.set, "seq_len");
  if (!length) {
    return NotAvailable(WhyNoCardValue(*run.set, "seq_len"));
  }
  return {.value = IsInference(*run.set) ? model->ForwardFlopsPerToken(*length)
                                         : model->TrainingFlopsPerToken(*length)};
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "flops_per_token_used",
           .meaning = "FLOPs that mfu charges for a token",
           .unit = "FLOP",
           .needs = {{.kind = NeedKind::kCard, .card_field = "num_params"},
                     {.kind = NeedKind::kCard, .card_field = "num_layers"},
                     {.kind = NeedKind::kCard, .card_field = "num_heads"},
                     {.kind = NeedKind::kCard, .card_field = "head_dim"},
                     {.kind = NeedKind::kCard, .card_field = "seq_len"}},
           .definition = "Training: 6 N + 12 L H Q S; inference: 2 N + 4 L H Q S",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::flops_per_token_used
