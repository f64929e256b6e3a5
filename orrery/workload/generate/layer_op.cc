#include "orrery/workload/generate/layer_op.h"

namespace orrery::workload {

std::string_view Name(Category category) {
  switch (category) {
    case Category::kGemm:
      return "products";
    case Category::kAttention:
      return "attention";
    case Category::kNorm:
      return "norms";
    case Category::kElementwise:
      return "elementwise";
    case Category::kEmbedding:
      return "embedding";
    case Category::kLoss:
      return "loss";
    case Category::kExperts:
      return "experts";
    case Category::kConvolution:
      return "convolutions";
    case Category::kCast:
      return "casts";
    case Category::kOptimizer:
      return "optimizer";
  }
  return "";
}

std::string_view Name(GroupRole role) {
  switch (role) {
    case GroupRole::kTensor:
      return "tp";
    case GroupRole::kContext:
      return "cp";
    case GroupRole::kExperts:
      return "ep";
    case GroupRole::kExpertTensor:
      return "tp of experts";
    case GroupRole::kData:
      return "dp";
    case GroupRole::kReplicas:
      return "dp of shards";
    case GroupRole::kExpertData:
      return "dp of experts";
    case GroupRole::kTied:
      return "pp tied embedding";
    case GroupRole::kAll:
      return "all";
    case GroupRole::kTables:
      return "tables";
    case GroupRole::kNextForwardOut:
      return "pp next forward out";
    case GroupRole::kNextForwardIn:
      return "pp next forward in";
    case GroupRole::kNextBackwardOut:
      return "pp next backward out";
    case GroupRole::kNextBackwardIn:
      return "pp next backward in";
    case GroupRole::kPreviousForwardOut:
      return "pp previous forward out";
    case GroupRole::kPreviousForwardIn:
      return "pp previous forward in";
    case GroupRole::kPreviousBackwardOut:
      return "pp previous backward out";
    case GroupRole::kPreviousBackwardIn:
      return "pp previous backward in";
    case GroupRole::kContextRing:
      return "cp ring";
  }
  return "";
}

}  // namespace orrery::workload
