#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Returns "tensor", "segment", "device", "managed", "pinned", "static" or "unknown".
[[nodiscard]] std::string_view MemoryClassName(trace::MemoryClass memory_class);

/// Returns the word in an object's label: its name, else the operator that allocated it, else its
/// class.
[[nodiscard]] std::string_view ObjectWord(const trace::Trace& trace, RowId object);

/// Returns a word with the recorder's number of an object, or `number` where it gave none.
[[nodiscard]] std::string ObjectLabel(std::string_view word, std::int64_t id, std::int64_t number);

/// Returns what people call an object: its name, else the operator that allocated it, with its
/// number; "outside of objects" for kNoRow.
[[nodiscard]] std::string ObjectLabel(const trace::Trace& trace, RowId object);

}  // namespace orrery::memory
