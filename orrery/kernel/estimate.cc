#include "orrery/kernel/estimate.h"

#include "orrery/base/check.h"

namespace orrery::kernel {

std::string_view EstimateSourceName(EstimateSource source) {
  switch (source) {
    case EstimateSource::kThisGpu:
      return "this GPU";
    case EstimateSource::kSibling:
      return "sibling GPU";
    case EstimateSource::kAllGpus:
      return "all GPUs";
    case EstimateSource::kRoofline:
      return "roofline";
  }
  ORRERY_CHECK(false, "a source without a name");
  return {};
}

}  // namespace orrery::kernel
