#include "orrery/kernel/data_type.h"

#include <array>
#include <cstddef>

#include "orrery/base/text.h"

namespace orrery::kernel {

namespace {

struct TypeFacts {
  DataType type;
  std::string_view name;
  std::string_view peak;
  double bytes;
};

constexpr auto kTypes = std::to_array<TypeFacts>({
    {DataType::kBf16, "bf16", "bf16", 2},
    {DataType::kFp16, "fp16", "fp16", 2},
    {DataType::kFp32, "fp32", "fp32", 4},
    {DataType::kTf32, "tf32", "tf32", 4},
    {DataType::kFp8, "fp8", "fp8", 1},
    {DataType::kFp8Block, "fp8_block", "fp8", 1},
    {DataType::kNvfp4, "nvfp4", "fp4", 0.5},
    {DataType::kFp64, "fp64", "fp64", 8},
    {DataType::kInt8, "int8", "int8", 1},
    {DataType::kInt32, "int32", "fp32", 4},
    {DataType::kInt64, "int64", "fp32", 8},
    {DataType::kBool, "bool", "fp32", 1},
    {DataType::kInt4, "int4", "bf16", 0.5},
    {DataType::kMxfp4, "mxfp4", "bf16", 0.5},
    {DataType::kMxfp4Fp8, "mxfp4_fp8", "fp8", 0.5},
});

struct OtherName {
  std::string_view name;
  DataType type;
};

constexpr auto kOtherNames = std::to_array<OtherName>({
    {"bfloat16", DataType::kBf16},
    {"c10::bfloat16", DataType::kBf16},
    {"half", DataType::kFp16},
    {"float16", DataType::kFp16},
    {"c10::half", DataType::kFp16},
    {"float", DataType::kFp32},
    {"float32", DataType::kFp32},
    {"double", DataType::kFp64},
    {"float64", DataType::kFp64},
    {"float8_e4m3fn", DataType::kFp8},
    {"c10::float8_e4m3fn", DataType::kFp8},
    {"int4_wo", DataType::kInt4},
    {"w4a16_mxfp4", DataType::kMxfp4},
    {"w4a8_mxfp4_mxfp8", DataType::kMxfp4Fp8},
    {"char", DataType::kInt8},
    {"signed char", DataType::kInt8},
    {"unsigned char", DataType::kInt8},
    {"uint8", DataType::kInt8},
    {"int", DataType::kInt32},
    {"long", DataType::kInt64},
    {"long int", DataType::kInt64},
});

const TypeFacts& FactsOf(DataType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view DataTypeName(DataType type) {
  return FactsOf(type).name;
}

std::optional<DataType> FindDataType(std::string_view name) {
  for (const TypeFacts& facts : kTypes) {
    if (SameIgnoringCase(facts.name, name)) {
      return facts.type;
    }
  }
  for (const OtherName& other : kOtherNames) {
    if (SameIgnoringCase(other.name, name)) {
      return other.type;
    }
  }
  return std::nullopt;
}

double ElementBytes(DataType type) {
  return FactsOf(type).bytes;
}

std::string_view PeakName(DataType type) {
  return FactsOf(type).peak;
}

}  // namespace orrery::kernel
