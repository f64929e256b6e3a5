#pragma once

#include <cstdint>
#include <string_view>

namespace orrery {

/// The type of the elements of a tensor. Stored by number in trace files: append at the end, never
/// reorder. kFp8 is E4M3. kTf32 is fp32 in memory; kFp8Block, kNvfp4 and kMxfp4 carry scales for
/// blocks of elements. kInt4 and kMxfp4 are the types of weights that multiply activations of bf16,
/// kMxfp4Fp8 of eight bits.
enum class DataType : std::uint8_t {
  kUnknown,
  kFp64,
  kFp32,
  kFp16,
  kBf16,
  kFp8,
  kFp8E5M2,
  kFp8Other,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool,
  kComplex64,
  kComplex128,
  kComplex32,
  kTf32,
  kFp8Block,
  kNvfp4,
  kInt4,
  kMxfp4,
  kMxfp4Fp8,
};

/// Returns "bf16", "fp8_block", …; "unknown" for kUnknown.
[[nodiscard]] std::string_view DataTypeName(DataType type);

/// Returns the name in c10 ("BFloat16"), or the name above where PyTorch has no such type.
[[nodiscard]] std::string_view TorchTypeName(DataType type);

/// Finds a type by one of its names here, in c10 ("BFloat16"), C++ ("c10::BFloat16", "long int") or
/// NCCL ("bf16", "f32"), in any case; kUnknown for other names.
[[nodiscard]] DataType ParseDataType(std::string_view name);

/// Returns the size of one element: a half for types of four bits, 0 for kUnknown.
[[nodiscard]] double ElementBytes(DataType type);

/// Returns the bytes of `elements`, or -1 if their number or type is unknown.
[[nodiscard]] std::int64_t SizeInBytes(std::int64_t elements, DataType type);

/// Returns true for 8-bit floating-point types.
[[nodiscard]] bool IsFp8(DataType type);

}  // namespace orrery
