#include "orrery/kernel/data_type.h"

#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"

namespace orrery::kernel {
namespace {

TEST(DataType, EveryTypeIsFoundByItsName) {
  for (std::size_t i = 0; i < kNumOperatorTypes; ++i) {
    const DataType type = OperatorType(i);
    EXPECT_EQ(FindDataType(DataTypeName(type)), type) << DataTypeName(type);
    EXPECT_GT(ElementBytes(type), 0) << DataTypeName(type);
    EXPECT_FALSE(PeakName(type).empty()) << DataTypeName(type);
  }
}

TEST(DataType, NumbersInModelFilesStay) {
  EXPECT_EQ(OperatorTypeNumber(DataType::kBf16), 0U);
  EXPECT_EQ(OperatorTypeNumber(DataType::kFp32), 2U);
  EXPECT_EQ(OperatorTypeNumber(DataType::kFp8), 4U);
  EXPECT_EQ(OperatorTypeNumber(DataType::kFp64), 7U);
  EXPECT_EQ(OperatorTypeNumber(DataType::kBool), 11U);
  EXPECT_EQ(OperatorTypeNumber(DataType::kMxfp4Fp8), 14U);
}

TEST(DataType, NamesOfFrameworksAreKnownInAnyCase) {
  EXPECT_EQ(FindDataType("bfloat16"), DataType::kBf16);
  EXPECT_EQ(FindDataType("c10::Half"), DataType::kFp16);
  EXPECT_EQ(FindDataType("Float"), DataType::kFp32);
  EXPECT_EQ(FindDataType("long int"), DataType::kInt64);
  EXPECT_EQ(FindDataType("w4a16_mxfp4"), DataType::kMxfp4);
  EXPECT_EQ(FindDataType("unsigned char"), DataType::kInt8);
  EXPECT_EQ(FindDataType("short int"), std::nullopt);
  EXPECT_EQ(FindDataType("bf17"), std::nullopt);
  EXPECT_EQ(FindDataType(""), std::nullopt);
}

TEST(DataType, WeightsOfFourBitsTakeHalfAByteAndMultiplyAtTheRateOfTheirPartner) {
  EXPECT_EQ(ElementBytes(DataType::kNvfp4), 0.5);
  EXPECT_EQ(ElementBytes(DataType::kInt4), 0.5);
  EXPECT_EQ(PeakName(DataType::kNvfp4), "fp4");
  EXPECT_EQ(PeakName(DataType::kMxfp4), "bf16");
  EXPECT_EQ(PeakName(DataType::kMxfp4Fp8), "fp8");
}

}  // namespace
}  // namespace orrery::kernel
