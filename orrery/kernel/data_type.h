#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::kernel {

/// How the elements of an operator are stored and multiplied. kTf32 is fp32 in memory; kFp8Block
/// and kNvfp4 carry scales for blocks of elements.
enum class DataType : std::uint8_t {
  kBf16,
  kFp16,
  kFp32,
  kTf32,
  kFp8,
  kFp8Block,
  kNvfp4,
  kFp64,
  kInt8,
  kInt32,
  kInt64,
  kBool,
};

/// Returns "bf16", "fp8_block", …
[[nodiscard]] std::string_view DataTypeName(DataType type);

/// Finds a type by its name here or by a framework's: "bfloat16", "float", "c10::Half", "long int".
[[nodiscard]] std::optional<DataType> FindDataType(std::string_view name);

/// Bytes of one element; a half for nvfp4.
[[nodiscard]] double ElementBytes(DataType type);

/// The name under which a GPU's peak rate of matrix products is listed for the type.
[[nodiscard]] std::string_view PeakName(DataType type);

}  // namespace orrery::kernel
