#include "orrery/draw/text_table.h"

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

// 22 columns: the header of the number is broken. 16: it has 3 and the gap 2, which leave 11 to the
// text, that needs 8 then.
TEST(TextTableTest, ATableThatIsTooWideBreaksHeadersAndThenText) {
  TextTable table({{.header = "what it does"}, {.header = "of all", .align = Align::kRight}});
  table.AddRow({"frees it too late", "1"});
  EXPECT_EQ(table.Render(22),
            "                    of\n"
            "what it does       all\n"
            "-----------------  ---\n"
            "frees it too late    1\n");
  EXPECT_EQ(table.Render(16),
            "what it    of\n"
            "does      all\n"
            "--------  ---\n"
            "frees it    1\n"
            "too late\n");
}

// Three columns of 4, 5 and 5 and two gaps take 18; 4 + 2 + 5 fit into 12.
TEST(TextTableTest, ColumnsThatDoNotFitFollowBelow) {
  TextTable table({{.header = "name"},
                   {.header = "bytes", .align = Align::kRight},
                   {.header = "calls", .align = Align::kRight}});
  table.AddRow({"gemm", "1", "2"});
  EXPECT_EQ(table.Render(12),
            "name  bytes\n"
            "----  -----\n"
            "gemm      1\n"
            "\n"
            "name  calls\n"
            "----  -----\n"
            "gemm      2\n");
}

// No word above 20 columns is kept whole; numbers are, and names in the first column up to 48.
TEST(TextTableTest, LongWordsOfCellsAreBroken) {
  TextTable table(
      {{.header = "name"}, {.header = "file"}, {.header = "n", .align = Align::kRight}});
  table.AddRow({"a_metric_of_24_characters", "abcdefghijklmnopqrstuvwxyz", "1,234,567"});
  EXPECT_EQ(table.Render(58),
            "name                       file                          n\n"
            "-------------------------  --------------------  ---------\n"
            "a_metric_of_24_characters  abcdefghijklmnopqrst  1,234,567\n"
            "                           uvwxyz\n");
}

TEST(WrappedTest, ANumberKeepsItsUnit) {
  EXPECT_EQ(Wrapped("exposed 3 %.", {.width = 10}), "exposed\n3 %.\n");
  EXPECT_EQ(Wrapped("in 1.50 µs of it", {.width = 8}), "in\n1.50 µs\nof it\n");
  EXPECT_EQ(Wrapped("the 3 ranks", {.width = 6}), "the 3\nranks\n");
}

TEST(WrappedTest, LinesBreakAtBlanksAndLongWordsStayWhole) {
  EXPECT_EQ(Wrapped("one two three", {.indent = 2, .width = 8}), "one two\n  three\n");
  EXPECT_EQ(Wrapped("a /a/long/path b", {.width = 5}), "a\n/a/long/path\nb\n");
  EXPECT_EQ(Wrapped("  in\n\nout", {.first_indent = 1, .width = 40}), "   in\n\n out\n");
  EXPECT_EQ(Wrapped("", {}), "\n");
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
