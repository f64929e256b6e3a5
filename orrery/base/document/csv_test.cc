#include "orrery/base/document/csv.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/table.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Type = Table::Type;

Table Parse(std::string_view text) {
  auto table = ParseCsv(text);
  EXPECT_TRUE(table.has_value()) << table.error().message();
  return table.value_or(Table{});
}

std::string ErrorOf(std::string_view text) {
  const auto table = ParseCsv(text);
  EXPECT_FALSE(table.has_value());
  return table ? "" : table.error().message();
}

TEST(CsvTest, EachColumnGetsTheNarrowestTypeThatHoldsAllItsValues) {
  const Table table = Parse("ranks,time_ms,gpu\n8,1.5,H200\n16,3,A100\n");

  ASSERT_EQ(table.num_rows(), 2U);
  EXPECT_EQ(table.column_type(0), Type::kInteger);
  EXPECT_EQ(table.column_type(1), Type::kNumber);
  EXPECT_EQ(table.column_type(2), Type::kText);
  EXPECT_EQ(table.Integer(1, "ranks"), 16);
  EXPECT_EQ(table.Number(1, "time_ms"), 3.0);
  EXPECT_EQ(table.Text(0, "gpu"), "H200");
}

TEST(CsvTest, OneWordMakesAColumnText) {
  const Table table = Parse("size\n8\nN/A\n");

  EXPECT_EQ(table.column_type(0), Type::kText);
  EXPECT_EQ(table.Text(0, "size"), "8");
}

TEST(CsvTest, DigitsBehindALeadingZeroAreText) {
  const Table table = Parse("commit,share\n007,0.5\n123,0\n");

  EXPECT_EQ(table.Text(0, "commit"), "007");
  EXPECT_EQ(table.column_type(1), Type::kNumber);
}

TEST(CsvTest, AnIntegerBeyond64BitsIsANumber) {
  EXPECT_EQ(Parse("n\n99999999999999999999\n").column_type(0), Type::kNumber);
}

TEST(CsvTest, AnEmptyFieldIsMissingAndNotZero) {
  const Table table = Parse("a,b,c\n1,,x\n,2.5,\n");

  EXPECT_EQ(table.column_type(0), Type::kInteger);
  EXPECT_EQ(table.Integer(1, "a"), std::nullopt);
  EXPECT_EQ(table.Number(0, "b"), std::nullopt);
  EXPECT_EQ(table.Text(1, "c"), std::nullopt);
}

TEST(CsvTest, AQuotedEmptyFieldIsEmptyTextOrAMissingNumber) {
  const Table table = Parse("name,n\n\"\",\"\"\nx,3\n");

  EXPECT_EQ(table.Text(0, "name"), "");
  EXPECT_EQ(table.column_type(1), Type::kInteger);
  EXPECT_EQ(table.Integer(0, "n"), std::nullopt);
}

TEST(CsvTest, QuotesProtectCommasLineEndsAndQuotes) {
  const Table table = Parse("kernel,n\n\"void f<int, 2>(\"\"x\"\")\nsecond line\",7\n");

  ASSERT_EQ(table.num_rows(), 1U);
  EXPECT_EQ(table.Text(0, "kernel"), "void f<int, 2>(\"x\")\nsecond line");
  EXPECT_EQ(table.Integer(0, "n"), 7);
}

TEST(CsvTest, LineEndsOfWindowsAndAMissingLastOneAreFine) {
  const Table expected = Parse("a,b\n1,x\n2,y\n");

  EXPECT_EQ(Parse("a,b\r\n1,x\r\n2,y\r\n"), expected);
  EXPECT_EQ(Parse("a,b\n1,x\n2,y"), expected);
  EXPECT_EQ(Parse("a,b\r\n1,\"x\"\r\n2,\"y\"\r"), expected);
  EXPECT_EQ(Parse("\xef\xbb\xbf"
                  "a,b\n1,x\n\n2,y\n\n"),
            expected);
}

TEST(CsvTest, OfOneColumnABlankLineIsAMissingValue) {
  const Table table = Parse("n\n1\n\n3\n");

  ASSERT_EQ(table.num_rows(), 3U);
  EXPECT_EQ(table.Integer(1, "n"), std::nullopt);
}

TEST(CsvTest, AHeaderAloneIsATableWithoutRows) {
  const Table table = Parse("a,b\n");

  EXPECT_EQ(table.num_columns(), 2U);
  EXPECT_EQ(table.num_rows(), 0U);
}

// The quoted field of the first record spans lines 2 and 3, so the short record is in line 4.
TEST(CsvTest, ARecordOfTheWrongLengthIsNamedByItsLine) {
  EXPECT_EQ(ErrorOf("a,b\n\"x\ny\",1\nz\n"), "line 4: 1 fields, but the header names 2");
  EXPECT_EQ(ErrorOf("a,b\n1,2,3\n"), "line 2: 3 fields, but the header names 2");
}

TEST(CsvTest, AQuoteThatIsNeverClosedIsNamedByTheLineItOpensIn) {
  EXPECT_EQ(ErrorOf("a,b\n1,2\n\"x,3\n4,5\n"), "line 3: a quote is not closed");
}

TEST(CsvTest, TextBehindAClosingQuoteIsAnError) {
  EXPECT_THAT(ErrorOf("a\n\"x\"y\n"), StartsWith("line 2: text follows a closing quote"));
}

TEST(CsvTest, AHeaderNamesItsColumnsOnce) {
  EXPECT_THAT(ErrorOf(""), StartsWith("line 1: the header is empty"));
  EXPECT_THAT(ErrorOf("\n1\n"), StartsWith("line 1: the header is empty"));
  EXPECT_EQ(ErrorOf("a,b,a\n"), "line 1: two columns are called 'a'");
}

Table TableOfEverything() {
  Table table;
  table.AddColumn("count", Type::kInteger);
  table.AddColumn("time, ms", Type::kNumber);
  table.AddColumn("name", Type::kText);
  for (int row = 0; row < 4; ++row) {
    table.AddRow();
  }
  table.Set(0, 0, std::int64_t{-9'223'372'036'854'775'807});
  table.Set(0, 1, 0.1);
  table.Set(0, 2, std::string("a \"b\", c\r\nd"));
  table.Set(1, 1, 3.0);
  table.Set(1, 2, std::string());
  table.Set(2, 0, std::int64_t{12});
  table.Set(2, 1, 1e300);
  table.Set(3, 1, 1.0 / 3.0);
  table.Set(3, 2, std::string("µs · é"));
  return table;
}

TEST(CsvTest, WhatIsWrittenReadsBackAsTheSameTable) {
  const Table table = TableOfEverything();

  EXPECT_EQ(Parse(FormatCsv(table)), table);
}

TEST(CsvTest, AColumnOfWholeNumbersStaysAColumnOfNumbers) {
  Table table;
  table.AddColumn("time_ms", Type::kNumber);
  table.Set(table.AddRow(), 0, 2.0);

  EXPECT_EQ(FormatCsv(table), "time_ms\n2.0\n");
}

TEST(CsvTest, NumbersHaveTheFewestDigitsThatReadBack) {
  Table table;
  table.AddColumn("a", Type::kNumber);
  table.AddColumn("b", Type::kNumber);
  const std::size_t row = table.AddRow();
  table.Set(row, 0, 0.1 + 0.2);
  table.Set(row, 1, 0.3);

  EXPECT_EQ(FormatCsv(table), "a,b\n0.30000000000000004,0.3\n");
}

class CsvFileTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, CsvFileTest,
                         ::testing::Values("csv_test.csv", "csv_test.csv.gz", "csv_test.csv.zst"));

TEST_P(CsvFileTest, FilesReadBackPlainAndPacked) {
  const std::string path = ::testing::TempDir() + GetParam();
  ASSERT_TRUE(WriteCsvFile(TableOfEverything(), path).has_value());

  const auto table = ReadCsvFile(path);

  ASSERT_TRUE(table.has_value()) << table.error().message();
  EXPECT_EQ(*table, TableOfEverything());
  std::filesystem::remove(path);
}

// Two files with byte order marks put together: the second mark belongs to the name, and writing
// must not make it the file's.
TEST(CsvTest, ANameThatBeginsWithAByteOrderMarkComesBack) {
  const auto table = ParseCsv(
      "\xef\xbb\xbf\xef\xbb\xbf"
      "a,b\n1,2\n");
  ASSERT_TRUE(table.has_value());
  EXPECT_EQ(table->column_name(0),
            "\xef\xbb\xbf"
            "a");

  const auto again = ParseCsv(FormatCsv(*table));

  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, *table);
}

TEST(CsvFileErrorTest, AnErrorNamesFileAndLine) {
  const std::string path = ::testing::TempDir() + "csv_error_test.csv";
  ASSERT_TRUE(WriteFile(path, "a,b\n1\n").has_value());

  const auto table = ReadCsvFile(path);

  ASSERT_FALSE(table.has_value());
  EXPECT_EQ(table.error().message(), path + ": line 2: 1 fields, but the header names 2");
  std::filesystem::remove(path);
}

TEST(CsvFileErrorTest, ACutPackedFileIsAnErrorBecauseRowsWouldBeMissing) {
  const std::string path = ::testing::TempDir() + "csv_cut_test.csv";
  const std::string packed = Pack("a,b\n1,2\n", Compression::kGzip);
  ASSERT_TRUE(WriteFile(path, packed.substr(0, packed.size() - 4)).has_value());

  const auto table = ReadCsvFile(path);

  ASSERT_FALSE(table.has_value());
  EXPECT_THAT(table.error().message(), HasSubstr("the data end early"));
  std::filesystem::remove(path);
}

TEST(CsvRecords, LinesMayBeOfUnequalLength) {
  const auto records = ParseCsvRecords("a,\"b,c\"\n1\n\n\"x\"\"y\",2,3\n");
  ASSERT_TRUE(records.has_value());
  const std::vector<std::vector<std::string>> expected = {
      {"a", "b,c"}, {"1"}, {""}, {"x\"y", "2", "3"}};
  EXPECT_EQ(*records, expected);
  EXPECT_FALSE(ParseCsvRecords("\"open\n").has_value());
}

}  // namespace
}  // namespace orrery
