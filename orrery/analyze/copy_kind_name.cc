#include "orrery/analyze/copy_kind_name.h"

#include <array>

namespace orrery::analyze {
namespace {

using trace::CopyKind;

constexpr std::array<std::string_view, kNumCopyKinds> kKindNames{"set",  "HtoD", "DtoH", "HtoA",
                                                                 "AtoH", "AtoA", "AtoD", "DtoA",
                                                                 "DtoD", "HtoH", "PtoP", "unknown"};

}  // namespace

CopyKind CopyKindOf(const trace::Activities& activities, RowId row) {
  if (activities.kind[row] == trace::ActivityKind::kMemset) {
    return CopyKind::kNone;
  }
  const CopyKind recorded = activities.copy_kind[row];
  return recorded == CopyKind::kNone ? CopyKind::kUnknown : recorded;
}

std::string_view CopyKindName(CopyKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

}  // namespace orrery::analyze
