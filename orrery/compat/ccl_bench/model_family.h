#pragma once

#include <optional>
#include <string_view>

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

/// Returns the card's model family if it is one of the three that the tools of group 6 know.
[[nodiscard]] std::optional<std::string_view> FamilyOfGroup6(const CompatRun& run);

/// Whether the family ran over PCIe in group 6's experiments.
[[nodiscard]] bool IsPcieFamily(std::string_view family);

}  // namespace orrery::compat::ccl_bench
