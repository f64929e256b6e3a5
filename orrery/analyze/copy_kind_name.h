#pragma once

#include <cstddef>
#include <string_view>

#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {

inline constexpr std::size_t kNumCopyKinds =
    static_cast<std::size_t>(trace::CopyKind::kUnknown) + 1;

/// Returns the kind of a copy, unknown where it was not recorded; sets stand where copies have
/// none.
[[nodiscard]] trace::CopyKind CopyKindOf(const trace::Activities& activities, RowId row);

/// Returns "HtoD", "DtoD", …; "set" for none.
[[nodiscard]] std::string_view CopyKindName(trace::CopyKind kind);

}  // namespace orrery::analyze
