#include "orrery/workload/generate/step.h"

namespace orrery::workload {

std::string_view Name(Category category) {
  switch (category) {
    case Category::kProduct:
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

std::string_view Name(Slot slot) {
  switch (slot) {
    case Slot::kTensor:
      return "tp";
    case Slot::kContext:
      return "cp";
    case Slot::kExperts:
      return "ep";
    case Slot::kExpertTensor:
      return "tp of experts";
    case Slot::kData:
      return "dp";
    case Slot::kReplicas:
      return "dp of shards";
    case Slot::kExpertData:
      return "dp of experts";
    case Slot::kTied:
      return "pp tied embedding";
    case Slot::kAll:
      return "all";
    case Slot::kTables:
      return "tables";
    case Slot::kNextForwardOut:
      return "pp next forward out";
    case Slot::kNextForwardIn:
      return "pp next forward in";
    case Slot::kNextBackwardOut:
      return "pp next backward out";
    case Slot::kNextBackwardIn:
      return "pp next backward in";
    case Slot::kPreviousForwardOut:
      return "pp previous forward out";
    case Slot::kPreviousForwardIn:
      return "pp previous forward in";
    case Slot::kPreviousBackwardOut:
      return "pp previous backward out";
    case Slot::kPreviousBackwardIn:
      return "pp previous backward in";
    case Slot::kContextRing:
      return "cp ring";
  }
  return "";
}

}  // namespace orrery::workload
