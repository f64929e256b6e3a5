#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/chart/count_elements_test.h"

namespace orrery::draw {
namespace {

using ::testing::HasSubstr;

ParallelChart TwoAxes() {
  return {
      .axes = {{.title = "tp", .names = {"1", "8"}}, {.title = "step time, s"}},
      .lines = {{.values = {0, 14}, .style = "heat-7", .tip = "the first", .is_emphasized = true},
                {.values = {0, 14.1}, .style = "heat-2"},
                {.values = {1, 14.2}, .style = "heat-2"}},
      .description = "plans"};
}

// Axes are at x = 92 and x = 1080 - 64 = 1016, half way between them is 554. Titles fit into one
// line: the plot is 320 high from 32 to 352. Names have 160 each: the middle of the first is 272,
// and two lines through it have 7 between them: 275.5 and 268.5. Numbers go from 344 to 40.
TEST(ParallelTest, LinesWithTheSameNamePassBesideEachOther) {
  const std::string svg = RenderParallel(TwoAxes());

  EXPECT_EQ(CountOf("class=\"line", svg), 3U);
  EXPECT_THAT(svg, HasSubstr("M92 275.5C554 275.5 554 344 1016 344\" class=\"line thick heat-7\" "
                             "data-tip=\"the first\""));
  EXPECT_THAT(svg, HasSubstr("M92 268.5C554 268.5 554 192 1016 192"));
  EXPECT_THAT(svg, HasSubstr("M92 112C554 112 554 40 1016 40"));
}

TEST(ParallelTest, NumbersHaveAsManyDigitsAsTellThemApart) {
  EXPECT_THAT(RenderParallel(TwoAxes()), HasSubstr(">14.05</text>"));
}

TEST(ParallelTest, TheFirstLineIsOnTop) {
  const std::string svg = RenderParallel(TwoAxes());
  EXPECT_LT(svg.rfind("heat-2"), svg.find("heat-7"));
}

TEST(ParallelTest, LongTitlesHaveTwoLines) {
  ParallelChart chart = TwoAxes();
  for (int i = 0; i < 7; ++i) {
    chart.axes.push_back({.title = "pipeline_is_innermost", .names = {"false"}});
    for (ParallelLine& line : chart.lines) {
      line.values.push_back(0);
    }
  }
  const std::string svg = RenderParallel(chart);
  EXPECT_THAT(svg, HasSubstr("y=\"20\" class=\"mark-label\""));
  EXPECT_THAT(svg, HasSubstr("y=\"38\" class=\"mark-label\""));
}

TEST(ParallelTest, NothingToCompareNoPicture) {
  EXPECT_EQ(RenderParallel({.axes = {{.title = "tp"}, {.title = "pp"}}, .description = ""}), "");
  EXPECT_EQ(
      RenderParallel(
          {.axes = {{.title = "tp"}}, .lines = {{.values = {1}, .style = ""}}, .description = ""}),
      "");
}

}  // namespace
}  // namespace orrery::draw
