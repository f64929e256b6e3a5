#include <gtest/gtest.h>

#include "orrery/draw/format.h"

namespace orrery::draw {
namespace {

using Align = TextTable::Align;

TEST(TextTableTest, ColumnsLineUpAndNumbersStandToTheRight) {
  TextTable table({{.header = "kernel"}, {.header = "time", .align = Align::kRight}});
  table.AddRow({"gemm", "12.3 ms"});
  table.AddRow({"elementwise", "4 ms"});

  EXPECT_EQ(table.Render(),
            "kernel          time\n"
            "-----------  -------\n"
            "gemm         12.3 ms\n"
            "elementwise     4 ms\n");
}

TEST(TextTableTest, AHeaderMayBeWiderThanItsCells) {
  TextTable table({{.header = "communication", .align = Align::kRight}, {.header = "x"}});
  table.AddRow({"1", "y"});

  EXPECT_EQ(table.Render(),
            "communication  x\n"
            "-------------  -\n"
            "            1  y\n");
}

// "µs" and "·" are two bytes each character and one column wide.
TEST(TextTableTest, CharactersOfSeveralBytesTakeOneColumn) {
  TextTable table({{.header = "a"}, {.header = "b"}});
  table.AddRow({"5 µs", "x"});
  table.AddRow({"1·2·3", "y"});

  EXPECT_EQ(table.Render(),
            "a      b\n"
            "-----  -\n"
            "5 µs   x\n"
            "1·2·3  y\n");
}

TEST(TextTableTest, ALongCellEndsInAnEllipsis) {
  TextTable table({{.header = "name", .max_width = 6}, {.header = "n"}});
  table.AddRow({"ampere_sgemm", "1"});
  table.AddRow({"gemm42", "2"});

  EXPECT_EQ(table.Render(),
            "name    n\n"
            "------  -\n"
            "amper…  1\n"
            "gemm42  2\n");
}

TEST(TextTableTest, MissingCellsStayEmptyAndLeaveNoBlanksBehind) {
  TextTable table({{.header = "a"}, {.header = "b"}});
  table.AddRow({"x"});

  EXPECT_EQ(table.Render(), "a  b\n-  -\nx\n");
}

TEST(TextTableTest, ALineBreakInACellDoesNotTearTheTable) {
  TextTable table({{.header = "a"}});
  table.AddRow({"x\ny\tz"});

  EXPECT_EQ(table.Render(), "a\n-----\nx y z\n");
}

TEST(TextWidthTest, TruncationCountsColumnsAndKeepsCharactersWhole) {
  EXPECT_EQ(Truncated("µµµµ", 4), "µµµµ");
  EXPECT_EQ(Truncated("µµµµ", 3), "µµ…");
  EXPECT_EQ(Truncated("µµµµ", 1), "…");
  EXPECT_EQ(Truncated("µµµµ", 0), "");
}

TEST(TextWidthTest, CombiningMarksTakeNoColumn) {
  EXPECT_EQ(DisplayWidth("e\u0301"), 1U);
  EXPECT_EQ(Truncated("e\u0301xyz", 2), "e\u0301…");
}

TEST(TextTableDeathTest, ARowWithTooManyCellsIsOurMistake) {
  TextTable table({{.header = "a"}});

  EXPECT_DEATH(table.AddRow({"x", "y"}), "no more cells");
}

}  // namespace
}  // namespace orrery::draw
