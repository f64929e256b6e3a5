#pragma once

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Returns a kernel's name without leading "void ", template arguments and parameters: "void
/// at::native::add<float>(float*)" is "at::native::add". Truncated names and names that are not C++
/// are kept as far as they can be parsed.
[[nodiscard]] std::string ShortKernelName(std::string_view full_name);

/// Returns "tensor", "segment", "device", "managed", "pinned", "static" or "unknown".
[[nodiscard]] std::string_view MemoryClassName(trace::MemoryClass memory_class);

/// Returns an object's name, else the operator that allocated it, else its class.
[[nodiscard]] std::string_view ObjectName(const trace::Trace& trace, RowId object);

/// Returns a name with the recorder's number of an object, or `number` where it has none.
[[nodiscard]] std::string ObjectLabel(std::string_view name, std::int64_t id, std::int64_t number);

/// Returns ObjectName with the object's number; "outside objects" for kNoRow.
[[nodiscard]] std::string ObjectLabel(const trace::Trace& trace, RowId object);

}  // namespace orrery::memory
