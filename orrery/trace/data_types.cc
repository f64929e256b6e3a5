#include "orrery/trace/data_types.h"

#include <array>
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
  switch (type) {
    case DataType::kUnknown:
      return "unknown";
    case DataType::kFloat64:
      return "Double";
    case DataType::kFloat32:
      return "Float";
    case DataType::kFloat16:
      return "Half";
    case DataType::kBFloat16:
      return "BFloat16";
    case DataType::kFloat8E4M3:
      return "Float8_e4m3fn";
    case DataType::kFloat8E5M2:
      return "Float8_e5m2";
    case DataType::kFloat8Other:
      return "Float8";
    case DataType::kInt64:
      return "Long";
    case DataType::kInt32:
      return "Int";
    case DataType::kInt16:
      return "Short";
    case DataType::kInt8:
      return "Char";
    case DataType::kUInt8:
      return "Byte";
    case DataType::kBool:
      return "Bool";
    case DataType::kComplex64:
      return "ComplexFloat";
    case DataType::kComplex128:
      return "ComplexDouble";
    case DataType::kComplex32:
      return "ComplexHalf";
  }
  return "unknown";
}

std::int64_t ElementBytes(DataType type) {
  switch (type) {
    case DataType::kUnknown:
      return -1;
    case DataType::kFloat8E4M3:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8Other:
    case DataType::kInt8:
    case DataType::kUInt8:
    case DataType::kBool:
      return 1;
    case DataType::kFloat16:
    case DataType::kBFloat16:
    case DataType::kInt16:
      return 2;
    case DataType::kFloat32:
    case DataType::kInt32:
    case DataType::kComplex32:
      return 4;
    case DataType::kFloat64:
    case DataType::kInt64:
    case DataType::kComplex64:
      return 8;
    case DataType::kComplex128:
      return 16;
  }
  return -1;
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
