#include "orrery/collective/algorithm.h"

#include <array>

namespace orrery::collective {

std::string_view Name(Algorithm algorithm) {
  constexpr std::array<std::string_view, 9> kNames = {
      "Tree",     "Ring", "CollnetDirect", "CollnetChain", "NVLS",
      "NVLSTree", "PAT",  "Hierarchical",  "Direct"};
  return kNames.at(static_cast<std::size_t>(algorithm));
}

std::string_view Name(Protocol protocol) {
  constexpr std::array<std::string_view, 3> kNames = {"LL", "LL128", "Simple"};
  return kNames.at(static_cast<std::size_t>(protocol));
}

}  // namespace orrery::collective
