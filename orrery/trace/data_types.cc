#include "orrery/trace/data_types.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/trace/enums.h"

namespace orrery::trace {
namespace {

struct Spelling {
  std::string_view name;
  DataType type;
};

constexpr std::array kSpellings{
    Spelling{"Double", DataType::kFloat64},
    Spelling{"double", DataType::kFloat64},
    Spelling{"f64", DataType::kFloat64},
    Spelling{"Float", DataType::kFloat32},
    Spelling{"float", DataType::kFloat32},
    Spelling{"f32", DataType::kFloat32},
    Spelling{"Half", DataType::kFloat16},
    Spelling{"c10::Half", DataType::kFloat16},
    Spelling{"half", DataType::kFloat16},
    Spelling{"f16", DataType::kFloat16},
    Spelling{"BFloat16", DataType::kBFloat16},
    Spelling{"c10::BFloat16", DataType::kBFloat16},
    Spelling{"bf16", DataType::kBFloat16},
    Spelling{"__nv_bfloat16", DataType::kBFloat16},
    Spelling{"Float8_e4m3fn", DataType::kFloat8E4M3},
    Spelling{"c10::Float8_e4m3fn", DataType::kFloat8E4M3},
    Spelling{"f8e4m3", DataType::kFloat8E4M3},
    Spelling{"Float8_e5m2", DataType::kFloat8E5M2},
    Spelling{"c10::Float8_e5m2", DataType::kFloat8E5M2},
    Spelling{"f8e5m2", DataType::kFloat8E5M2},
    Spelling{"Long", DataType::kInt64},
    Spelling{"long", DataType::kInt64},
    Spelling{"long int", DataType::kInt64},
    Spelling{"int64_t", DataType::kInt64},
    Spelling{"i64", DataType::kInt64},
    Spelling{"u64", DataType::kInt64},
    Spelling{"uint64_t", DataType::kInt64},
    Spelling{"Int", DataType::kInt32},
    Spelling{"int", DataType::kInt32},
    Spelling{"int32_t", DataType::kInt32},
    Spelling{"i32", DataType::kInt32},
    Spelling{"u32", DataType::kInt32},
    Spelling{"uint32_t", DataType::kInt32},
    Spelling{"Short", DataType::kInt16},
    Spelling{"short", DataType::kInt16},
    Spelling{"short int", DataType::kInt16},
    Spelling{"Char", DataType::kInt8},
    Spelling{"signed char", DataType::kInt8},
    Spelling{"int8_t", DataType::kInt8},
    Spelling{"i8", DataType::kInt8},
    Spelling{"Byte", DataType::kUInt8},
    Spelling{"unsigned char", DataType::kUInt8},
    Spelling{"uint8_t", DataType::kUInt8},
    Spelling{"u8", DataType::kUInt8},
    Spelling{"Bool", DataType::kBool},
    Spelling{"bool", DataType::kBool},
    Spelling{"ComplexFloat", DataType::kComplex64},
    Spelling{"c10::complex<float>", DataType::kComplex64},
    Spelling{"ComplexDouble", DataType::kComplex128},
    Spelling{"c10::complex<double>", DataType::kComplex128},
    Spelling{"ComplexHalf", DataType::kComplex32},
    Spelling{"c10::complex<c10::Half>", DataType::kComplex32},
};

struct TypeProperties {
  std::string_view name;
  std::int64_t bytes = -1;
};

// In the order of DataType.
constexpr auto kTypes = std::to_array<TypeProperties>({
    {"unknown", -1},
    {"Double", 8},
    {"Float", 4},
    {"Half", 2},
    {"BFloat16", 2},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
    {"Float8", 1},
    {"Long", 8},
    {"Int", 4},
    {"Short", 2},
    {"Char", 1},
    {"Byte", 1},
    {"Bool", 1},
    {"ComplexFloat", 8},
    {"ComplexDouble", 16},
    {"ComplexHalf", 4},
});

}  // namespace

DataType ParseDataType(std::string_view name) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.name == name) {
      return spelling.type;
    }
  }
  if (name.starts_with("Float8_") || name.starts_with("c10::Float8_")) {
    return DataType::kFloat8Other;
  }
  return DataType::kUnknown;
}

std::string_view DataTypeName(DataType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::int64_t ElementBytes(DataType type) {
  return kTypes[static_cast<std::size_t>(type)].bytes;
}

std::int64_t SizeInBytes(std::int64_t elements, DataType type) {
  const std::int64_t element_bytes = ElementBytes(type);
  std::int64_t bytes = 0;
  if (elements < 0 || element_bytes < 0 ||
      __builtin_mul_overflow(elements, element_bytes, &bytes)) {
    return -1;
  }
  return bytes;
}

}  // namespace orrery::trace
