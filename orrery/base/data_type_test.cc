#include "orrery/base/data_type.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

namespace orrery {
namespace {

// Trace files of all versions hold these numbers.
constexpr auto kTypeOfNumber = std::to_array<DataType>(
    {DataType::kUnknown,   DataType::kFp64,  DataType::kFp32,      DataType::kFp16,
     DataType::kBf16,      DataType::kFp8,   DataType::kFp8E5M2,   DataType::kFp8Other,
     DataType::kInt64,     DataType::kInt32, DataType::kInt16,     DataType::kInt8,
     DataType::kUInt8,     DataType::kBool,  DataType::kComplex64, DataType::kComplex128,
     DataType::kComplex32, DataType::kTf32,  DataType::kFp8Block,  DataType::kNvfp4,
     DataType::kInt4,      DataType::kMxfp4, DataType::kMxfp4Fp8});

TEST(DataTypeTest, NumbersInFilesStay) {
  for (std::size_t number = 0; number < kTypeOfNumber.size(); ++number) {
    EXPECT_EQ(static_cast<std::size_t>(kTypeOfNumber[number]), number);
  }
}

TEST(DataTypeTest, EveryTypeIsFoundByItsNames) {
  for (const DataType type : kTypeOfNumber) {
    EXPECT_EQ(ParseDataType(DataTypeName(type)), type) << DataTypeName(type);
    EXPECT_EQ(ParseDataType(TorchTypeName(type)), type) << TorchTypeName(type);
  }
  EXPECT_EQ(ParseDataType("c10::BFloat16"), DataType::kBf16);
  EXPECT_EQ(ParseDataType("unsigned char"), DataType::kUInt8);
  EXPECT_EQ(ParseDataType("Float8_e8m0fnu"), DataType::kFp8Other);
  EXPECT_EQ(ParseDataType("bf17"), DataType::kUnknown);
  EXPECT_EQ(ParseDataType(""), DataType::kUnknown);
}

TEST(DataTypeTest, NamesOfTorchAreThoseOfC10) {
  EXPECT_EQ(TorchTypeName(DataType::kFp8), "Float8_e4m3fn");
  EXPECT_EQ(TorchTypeName(DataType::kInt64), "Long");
  EXPECT_EQ(TorchTypeName(DataType::kComplex32), "ComplexHalf");
}

TEST(DataTypeTest, SizesOfFourBitTypesAreRoundedUpAndUnknownOnesStayUnknown) {
  EXPECT_EQ(SizeInBytes(10, DataType::kBf16), 20);
  EXPECT_EQ(SizeInBytes(3, DataType::kNvfp4), 2);
  EXPECT_EQ(SizeInBytes(1, DataType::kUnknown), -1);
  EXPECT_EQ(SizeInBytes(-1, DataType::kBf16), -1);
  EXPECT_EQ(SizeInBytes(std::int64_t{1} << 62, DataType::kFp32), -1);
}

}  // namespace
}  // namespace orrery
