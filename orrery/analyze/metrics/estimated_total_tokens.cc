#include <string_view>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/model_flops.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::estimated_total_tokens {
namespace {

MetricResult Compute(const RunView& run) {
  for (const std::string_view field : {"batch_size", "seq_len"}) {
    if (!CardNumber(*run.set, field)) {
      return NotAvailable(WhyNoCardValue(*run.set, field));
    }
  }
  return {.value = *CardNumber(*run.set, "batch_size") * *CardNumber(*run.set, "seq_len") *
                   static_cast<double>(NumSteps(run))};
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "estimated_total_tokens",
           .meaning = "Tokens of the selected steps",
           .unit = "tokens",
           .needs = {{.kind = NeedKind::kCard, .card_field = "batch_size"},
                     {.kind = NeedKind::kCard, .card_field = "seq_len"}},
           .definition = "batch_size * seq_len of the card * selected steps",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::estimated_total_tokens
