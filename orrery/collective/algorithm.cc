#include "orrery/collective/algorithm.h"

namespace orrery::collective {

std::string_view Name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kTree:
      return "Tree";
    case Algorithm::kRing:
      return "Ring";
    case Algorithm::kCollnetDirect:
      return "CollnetDirect";
    case Algorithm::kCollnetChain:
      return "CollnetChain";
    case Algorithm::kNvls:
      return "NVLS";
    case Algorithm::kNvlsTree:
      return "NVLSTree";
    case Algorithm::kPat:
      return "PAT";
    case Algorithm::kHierarchical:
      return "Hierarchical";
    case Algorithm::kDirect:
      return "Direct";
  }
  return {};
}

std::string_view Name(Protocol protocol) {
  switch (protocol) {
    case Protocol::kLl:
      return "LL";
    case Protocol::kLl128:
      return "LL128";
    case Protocol::kSimple:
      return "Simple";
  }
  return {};
}

}  // namespace orrery::collective
