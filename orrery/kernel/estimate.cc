#include "orrery/kernel/estimate.h"

#include "orrery/base/check.h"

namespace orrery::kernel {

std::string_view RungName(Rung rung) {
  switch (rung) {
    case Rung::kThisGpu:
      return "this GPU";
    case Rung::kSibling:
      return "sibling GPU";
    case Rung::kAllGpus:
      return "all GPUs";
    case Rung::kRoofline:
      return "roofline";
  }
  ORRERY_CHECK(false, "a rung without a name");
  return {};
}

}  // namespace orrery::kernel
