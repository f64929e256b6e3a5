#include "orrery/kernel/data_type.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "orrery/base/data_type.h"

namespace orrery::kernel {
namespace {

struct OperatorTypeEntry {
  DataType type;
  std::string_view peak;
};

// Stored by number in model files: append at the end, never reorder.
constexpr auto kTypes = std::to_array<OperatorTypeEntry>({
    {DataType::kBf16, "bf16"},
    {DataType::kFp16, "fp16"},
    {DataType::kFp32, "fp32"},
    {DataType::kTf32, "tf32"},
    {DataType::kFp8, "fp8"},
    {DataType::kFp8Block, "fp8"},
    {DataType::kNvfp4, "fp4"},
    {DataType::kFp64, "fp64"},
    {DataType::kInt8, "int8"},
    {DataType::kInt32, "fp32"},
    {DataType::kInt64, "fp32"},
    {DataType::kBool, "fp32"},
    {DataType::kInt4, "bf16"},
    {DataType::kMxfp4, "bf16"},
    {DataType::kMxfp4Fp8, "fp8"},
});

static_assert(kTypes.size() == kNumOperatorTypes);

}  // namespace

DataType OperatorType(std::size_t number) {
  return kTypes[number].type;
}

std::size_t OperatorTypeNumber(DataType type) {
  const auto* const found = std::ranges::find(kTypes, type, &OperatorTypeEntry::type);
  return static_cast<std::size_t>(found - kTypes.begin());
}

std::optional<DataType> FindDataType(std::string_view name) {
  const DataType parsed = ParseDataType(name);
  const DataType type = parsed == DataType::kUInt8 ? DataType::kInt8 : parsed;
  return OperatorTypeNumber(type) < kTypes.size() ? std::optional(type) : std::nullopt;
}

std::string_view PeakName(DataType type) {
  return kTypes[OperatorTypeNumber(type)].peak;
}

}  // namespace orrery::kernel
