#include "orrery/base/data_type.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/base/text/text.h"

namespace orrery {
namespace {

struct TypeProperties {
  std::string_view name;
  std::string_view torch_name;
  double bytes;
};

// In the order of DataType.
constexpr auto kTypes = std::to_array<TypeProperties>({
    {"unknown", "unknown", 0},
    {"fp64", "Double", 8},
    {"fp32", "Float", 4},
    {"fp16", "Half", 2},
    {"bf16", "BFloat16", 2},
    {"fp8", "Float8_e4m3fn", 1},
    {"fp8_e5m2", "Float8_e5m2", 1},
    {"fp8_other", "Float8", 1},
    {"int64", "Long", 8},
    {"int32", "Int", 4},
    {"int16", "Short", 2},
    {"int8", "Char", 1},
    {"uint8", "Byte", 1},
    {"bool", "Bool", 1},
    {"complex64", "ComplexFloat", 8},
    {"complex128", "ComplexDouble", 16},
    {"complex32", "ComplexHalf", 4},
    {"tf32", "tf32", 4},
    {"fp8_block", "fp8_block", 1},
    {"nvfp4", "nvfp4", 0.5},
    {"int4", "int4", 0.5},
    {"mxfp4", "mxfp4", 0.5},
    {"mxfp4_fp8", "mxfp4_fp8", 0.5},
});

struct OtherName {
  std::string_view name;
  DataType type;
};

constexpr auto kOtherNames = std::to_array<OtherName>({
    {"f64", DataType::kFp64},
    {"float64", DataType::kFp64},
    {"f32", DataType::kFp32},
    {"float32", DataType::kFp32},
    {"c10::half", DataType::kFp16},
    {"f16", DataType::kFp16},
    {"float16", DataType::kFp16},
    {"c10::bfloat16", DataType::kBf16},
    {"__nv_bfloat16", DataType::kBf16},
    {"c10::float8_e4m3fn", DataType::kFp8},
    {"f8e4m3", DataType::kFp8},
    {"fp8_e4m3", DataType::kFp8},
    {"c10::float8_e5m2", DataType::kFp8E5M2},
    {"f8e5m2", DataType::kFp8E5M2},
    {"long int", DataType::kInt64},
    {"int64_t", DataType::kInt64},
    {"i64", DataType::kInt64},
    {"u64", DataType::kInt64},
    {"uint64_t", DataType::kInt64},
    {"uint64", DataType::kInt64},
    {"int32_t", DataType::kInt32},
    {"i32", DataType::kInt32},
    {"u32", DataType::kInt32},
    {"uint32_t", DataType::kInt32},
    {"uint32", DataType::kInt32},
    {"short int", DataType::kInt16},
    {"signed char", DataType::kInt8},
    {"int8_t", DataType::kInt8},
    {"i8", DataType::kInt8},
    {"unsigned char", DataType::kUInt8},
    {"uint8_t", DataType::kUInt8},
    {"u8", DataType::kUInt8},
    {"c10::complex<float>", DataType::kComplex64},
    {"c10::complex<double>", DataType::kComplex128},
    {"c10::complex<c10::half>", DataType::kComplex32},
    {"int4_wo", DataType::kInt4},
    {"w4a16_mxfp4", DataType::kMxfp4},
    {"w4a8_mxfp4_mxfp8", DataType::kMxfp4Fp8},
});

const TypeProperties& PropertiesOf(DataType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view DataTypeName(DataType type) {
  return PropertiesOf(type).name;
}

std::string_view TorchTypeName(DataType type) {
  return PropertiesOf(type).torch_name;
}

DataType ParseDataType(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (SameIgnoringCase(kTypes[i].name, name) || SameIgnoringCase(kTypes[i].torch_name, name)) {
      return static_cast<DataType>(i);
    }
  }
  for (const OtherName& other : kOtherNames) {
    if (SameIgnoringCase(other.name, name)) {
      return other.type;
    }
  }
  const bool is_fp8 = name.starts_with("Float8_") || name.starts_with("c10::Float8_");
  return is_fp8 ? DataType::kFp8Other : DataType::kUnknown;
}

double ElementBytes(DataType type) {
  return PropertiesOf(type).bytes;
}

std::int64_t SizeInBytes(std::int64_t elements, DataType type) {
  const double element = ElementBytes(type);
  if (elements < 0 || element == 0) {
    return -1;
  }
  if (element < 1) {
    return elements / 2 + elements % 2;
  }
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(elements, static_cast<std::int64_t>(element), &bytes) ? -1 : bytes;
}

bool IsFp8(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8E5M2 || type == DataType::kFp8Other ||
         type == DataType::kFp8Block;
}

}  // namespace orrery
