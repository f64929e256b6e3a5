#include "orrery/cli/help/wrapped_help.h"

#include <string>

#include <gtest/gtest.h>

namespace orrery::cli {
namespace {

TEST(WrappedHelp, DescriptionsStayInTheirColumn) {
  EXPECT_EQ(WrappedHelp("  --gpu NAME  one two three\n  --top N     four\n", 24),
            "  --gpu NAME  one two\n"
            "              three\n"
            "  --top N     four\n");
  // A long option has its description on the next line.
  EXPECT_EQ(WrappedHelp("  --a-long-option NAME\n              one two three\n", 24),
            "  --a-long-option NAME\n"
            "              one two\n"
            "              three\n");
}

TEST(WrappedHelp, AnOptionOrExampleThatIsTooWideGoesOnDeeper) {
  EXPECT_EQ(WrappedHelp("  orrery fit host a.json b.json\n  orrery fit\n", 22),
            "  orrery fit host\n"
            "      a.json b.json\n"
            "  orrery fit\n");
}

// At 16 columns, breaking "and three four" alone would leave lines of one word.
TEST(WrappedHelp, ParagraphsAndEntriesAreFilledAnew) {
  EXPECT_EQ(WrappedHelp("one two\nand three four five\nsix\n\nseven\neight\n", 16),
            "one two and\nthree four five\nsix\n\nseven\neight\n");
  EXPECT_EQ(WrappedHelp("  .json  for viewers of\n         a rank\n  .orr   all\n", 18),
            "  .json  for\n         viewers\n         of a rank\n  .orr   all\n");
}

TEST(WrappedHelp, WhatFitsStaysAsItWasWritten) {
  const std::string help =
      "Fits\nUsage: orrery fit [OPTIONS]\n\nOptions:\n  --gpu  one\n         two\n\nEnd\nof it";
  EXPECT_EQ(WrappedHelp(help, 40), help);
  // The title is no part of the usage.
  EXPECT_EQ(WrappedHelp(help, 20).substr(0, 33), "Fits\nUsage: orrery fit\n[OPTIONS]\n");
}

}  // namespace
}  // namespace orrery::cli
