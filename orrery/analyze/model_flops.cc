#include "orrery/analyze/model_flops.h"

#include "orrery/analyze/card_fields.h"

namespace orrery::analyze {

bool IsInference(const trace::TraceSet& set) {
  const auto phase = CardText(set, "phase");
  return phase == "inference" || phase == "serving";
}

std::optional<ModelShape> ReadModelShape(const trace::TraceSet& set, std::string& reason) {
  for (const std::string_view field : {"num_params", "num_layers", "num_heads", "head_dim"}) {
    if (!CardNumber(set, field)) {
      reason = WhyNoCardValue(set, field);
      return std::nullopt;
    }
  }
  const double all = *CardNumber(set, "num_params");
  const double active = CardNumber(set, "num_params_active").value_or(all);
  return ModelShape{.params = active - CardNumber(set, "num_params_embedding").value_or(0),
                    .layers = *CardNumber(set, "num_layers"),
                    .heads = *CardNumber(set, "num_heads"),
                    .head_dim = *CardNumber(set, "head_dim")};
}

}  // namespace orrery::analyze
