#include "orrery/cli/overlap_option.h"

#include "orrery/cli/verb.h"
#include "orrery/overlap/learned_model.h"

namespace orrery::cli {

void AddOverlapOption(Verb& verb, simulate::OverlapKind& overlap) {
  overlap = simulate::OverlapKind::kModel;  // what the scalars of frameworks are fitted with
  verb.AddChoice("--overlap", overlap,
      {{"none", simulate::OverlapKind::kNone},
       {"analytic", simulate::OverlapKind::kAnalytic},
       {"model", simulate::OverlapKind::kModel}},
      "how kernels that run together hold each other up: not, by the shares they take of a GPU, by "
      "a model of pairs of kernels (default: model)");
}

Result<std::shared_ptr<const overlap::Model>> LoadOverlapModel(
    simulate::SimulationOptions& options) {
  if (options.overlap != simulate::OverlapKind::kModel) {
    return nullptr;
  }
  ORRERY_TRY(std::shared_ptr<const overlap::Model> model, overlap::ShippedModel());
  options.overlap_model = model.get();
  return model;
}

}  // namespace orrery::cli
