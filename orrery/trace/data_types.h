#pragma once

#include <cstdint>
#include <string_view>

#include "orrery/trace/enums.h"

namespace orrery::trace {

/// Understands c10 names ("BFloat16"), C++ spellings ("c10::BFloat16", "long int") and NCCL's
/// kernel suffixes ("bf16", "f32"); anything else is kUnknown.
[[nodiscard]] DataType ParseDataType(std::string_view name);

/// Returns the c10 name, "unknown" for kUnknown.
[[nodiscard]] std::string_view DataTypeName(DataType type);

/// Returns the size of one element in bytes, or -1 when the type is not known: an unknown type
/// makes a size unknown, not zero.
[[nodiscard]] std::int64_t ElementBytes(DataType type);

/// Returns elements * size, or -1 if either is unknown.
[[nodiscard]] std::int64_t SizeInBytes(std::int64_t elements, DataType type);

}  // namespace orrery::trace
