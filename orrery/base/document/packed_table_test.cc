#include "orrery/base/document/packed_table.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/zstd_frame.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

// Operators and times, as in the tables of measured kernels.
std::string TableOfTimes(int num_rows) {
  std::string text = "operator,kernel_us,spread_pct,gpu,reason\n";
  for (int i = 0; i < num_rows; ++i) {
    const int noise = i * 7919 % 1009;
    text += fmt::format("gemm m={} n={} k=64 bf16,{}.{:03},{},NVIDIA H200,{}\n", 16 + noise * 8,
                        noise % 7 * 128, noise, noise * 31 % 1000, noise % 5 == 0 ? "0" : "1.25",
                        noise % 11 == 0 ? "\"late, by 3\"" : "");
  }
  return text;
}

TEST(PackedTableTest, ATableComesBackByteByByte) {
  for (const std::string& text :
       {TableOfTimes(100), std::string("a,b\n"), std::string("a\n\n\n"), std::string()}) {
    const auto packed = PackTable(text);
    ASSERT_TRUE(packed.has_value()) << text;
    EXPECT_TRUE(IsPackedTable(*packed));
    EXPECT_EQ(UnpackTable(*packed).value(), text);
  }
}

// Digits that a number would not give back: leading zeros, more of them than 63 bits hold, a point
// without digits behind it, versions, signs and exponents.
TEST(PackedTableTest, CellsThatLookLikeNumbersComeBackAsTheyAre) {
  const std::string text =
      "cell\n007\n0\n00\n1.50\n1.\n.5\n580.159.04\n-3\n1e5\n0.000000001\n0.0000000001\n"
      "123456789012345678\n1234567890123456789\n99999999999999999.12\n18446744073709551616\n";
  EXPECT_EQ(UnpackTable(PackTable(text).value()).value(), text);
}

// Times are noise in their low digits alone, which text spreads over whole characters.
TEST(PackedTableTest, ColumnsOfNumbersTakeLessThanTheirText) {
  const std::string text = TableOfTimes(2000);
  EXPECT_LT(PackTable(text).value().size(), ZstdFrame(text).size() * 3 / 4);
}

TEST(PackedTableTest, ATextThatWouldNotComeBackIsRefused) {
  for (const std::string_view text :
       {std::string_view("a,b\n1\n"), std::string_view("a\r\n1\r\n"),
        std::string_view("a\n\"1\"\n"), std::string_view("a\n1"), std::string_view("a\n\0\n", 4),
        std::string_view("a\n\"1\n")}) {
    EXPECT_FALSE(PackTable(text).has_value()) << text;
  }
}

TEST(PackedTableTest, EveryChangedByteIsFound) {
  const std::string packed = PackTable(TableOfTimes(5)).value();
  for (std::size_t i = 8; i < packed.size(); ++i) {
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    EXPECT_FALSE(UnpackTable(damaged).has_value()) << i;
    EXPECT_FALSE(UnpackTable(packed.substr(0, i)).has_value()) << i;
  }
}

TEST(PackedTableTest, ATableOfALaterVersionIsNamed) {
  std::string packed = PackTable("a\n1\n").value();
  packed[8] = 2;
  EXPECT_THAT(UnpackTable(packed).error().message(), HasSubstr("newer Orrery"));
}

TEST(PackedTableTest, FilesOfTablesAreReadAsTheirCsv) {
  const std::string path = ::testing::TempDir() + "packed_table_test.csv.orrtable";
  ASSERT_TRUE(WriteFile(path, PackTable(TableOfTimes(9)).value()).has_value());

  EXPECT_TRUE(IsCsvName(path));
  const auto table = ReadCsvFile(path);

  ASSERT_TRUE(table.has_value()) << table.error().message();
  EXPECT_EQ(*table, ParseCsv(TableOfTimes(9)).value());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace orrery
