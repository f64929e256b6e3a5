#include "orrery/ingest/csv_rows.h"

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "orrery/base/file/byte_source.h"

namespace orrery::ingest {
namespace {

TEST(CsvRowsTest, FieldsAreFoundByNameAndMayHoldCommasLinesAndQuotes) {
  const std::unique_ptr<ByteSource> source =
      OpenMemory("\"A\",\"B\",C\r\n1,\"f<int, 2>\n(\"\"x\"\")\",0x10\n\n2,,\n");
  CsvRows rows(*source);

  ASSERT_TRUE(rows.ReadHeader().value_or(false));
  ASSERT_TRUE(rows.Next().value_or(false));
  EXPECT_EQ(rows.line(), 2);
  EXPECT_EQ(rows.Integer("A"), 1);
  EXPECT_EQ(rows.Text("B"), "f<int, 2>\n(\"x\")");
  EXPECT_EQ(rows.Integer("C"), 16);
  EXPECT_EQ(rows.Text("D"), "");
  EXPECT_FALSE(rows.HasColumn("D"));
  ASSERT_TRUE(rows.Next().value_or(false));
  EXPECT_EQ(rows.line(), 5);
  EXPECT_EQ(rows.Integer("A"), 2);
  EXPECT_EQ(rows.Integer("B"), std::nullopt);
  EXPECT_FALSE(rows.Next().value_or(true));
}

TEST(CsvRowsTest, ARowMayEndWithTheFileAndBeShort) {
  const std::unique_ptr<ByteSource> source = OpenMemory("A,B\n7");
  CsvRows rows(*source);

  ASSERT_TRUE(rows.ReadHeader().value_or(false));
  ASSERT_TRUE(rows.Next().value_or(false));
  EXPECT_EQ(rows.Integer("A"), 7);
  EXPECT_EQ(rows.Text("B"), "");
}

TEST(CsvRowsTest, NumbersAreWholeOrNothing) {
  EXPECT_EQ(DecimalOrHex("0x00007ffb26354000"), 0x7ffb26354000);
  EXPECT_EQ(DecimalOrHex("12x"), std::nullopt);
  EXPECT_EQ(DecimalOrHex(""), std::nullopt);
  EXPECT_EQ(DecimalOrHex("0x"), std::nullopt);
  EXPECT_EQ(DecimalOrHex("99999999999999999999"), std::nullopt);
}

}  // namespace
}  // namespace orrery::ingest
