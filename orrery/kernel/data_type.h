#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::kernel {

/// How the elements of an operator are stored and multiplied. kTf32 is fp32 in memory; kFp8Block,
/// kNvfp4 and kMxfp4 carry scales for blocks of elements. kInt4 and kMxfp4 are the types of weights
/// that multiply activations of bf16, kMxfp4Fp8 of eight bits.
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
  kInt4,
  kMxfp4,
  kMxfp4Fp8,
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
