#include "orrery/kernel/estimate.h"

#include <array>

namespace orrery::kernel {

std::string_view EstimateSourceName(EstimateSource source) {
  constexpr std::array<std::string_view, 4> kNames = {"this GPU", "sibling GPU", "all GPUs",
                                                      "roofline"};
  return kNames.at(static_cast<std::size_t>(source));
}

}  // namespace orrery::kernel
