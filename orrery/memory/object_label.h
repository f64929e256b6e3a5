#pragma once

#include <string>
#include <string_view>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Returns "tensor", "segment", "device", "managed", "pinned", "static" or "unknown".
[[nodiscard]] std::string_view MemoryClassName(trace::MemoryClass memory_class);

/// Returns what people call an object: its name, else the operator that allocated it, with its
/// number; "outside of objects" for kNoRow.
[[nodiscard]] std::string ObjectLabel(const trace::Trace& trace, trace::RowId object);

}  // namespace orrery::memory
