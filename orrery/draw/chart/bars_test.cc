#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/chart/count_elements_test.h"

namespace orrery::draw {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<Series> kTwoSeries{{.name = "work", .style = "compute"},
                                     {.name = "rest", .style = "idle"}};

StackedBars ChartOf(std::size_t num_bars) {
  StackedBars chart{
      .series = kTwoSeries, .quantity = Quantity::kNanoseconds, .description = "bars"};
  for (std::size_t bar = 0; bar < num_bars; ++bar) {
    chart.bars.push_back({.label = "rank " + std::to_string(bar), .values = {3e6, 1e6}});
  }
  return chart;
}

// The plot is 1080 - 92 - 84 = 904 wide and begins at 92: three quarters are 678, and the rest
// begins at 92 + 678 = 770 and is 226 wide.
TEST(StackedBarsTest, PartsFollowEachOtherInProportion) {
  const std::string svg = RenderStackedBars(ChartOf(1));

  EXPECT_THAT(svg,
              HasSubstr("<rect x=\"92\" y=\"8\" width=\"678\" height=\"22\" class=\"compute\""));
  EXPECT_THAT(svg, HasSubstr("<rect x=\"770\" y=\"8\" width=\"226\" height=\"22\" class=\"idle\""));
  EXPECT_THAT(svg, HasSubstr("data-tip=\"rank 0 · work\n3.00 ms (75.0 %)\""));
  EXPECT_THAT(svg, HasSubstr(">75 %</text>"));
}

TEST(StackedBarsTest, APartWithoutRoomHasNoShareAndAnEmptyOneNoRectangle) {
  StackedBars chart = ChartOf(1);
  chart.bars[0].values = {99, 1};
  EXPECT_THAT(RenderStackedBars(chart), Not(HasSubstr(">1 %</text>")));

  chart.bars[0].values = {99, 0};
  EXPECT_EQ(CountOf("<rect", RenderStackedBars(chart)), 1U);
}

TEST(StackedBarsTest, BarsWithoutTimeAreEmptyNotBroken) {
  StackedBars chart = ChartOf(1);
  chart.bars[0].values = {0, 0};

  EXPECT_EQ(CountOf("<rect", RenderStackedBars(chart)), 0U);
}

// 1,024 bars in at most 520 columns: two a column, 512 columns of two parts.
TEST(StackedColumnsTest, ManyBarsAreAveragedInNeighbours) {
  StackedBars chart = ChartOf(1'024);
  chart.bars[1].values = {5e6, 3e6};

  const std::string svg = RenderStackedColumns(chart);

  EXPECT_EQ(CountOf("<rect", svg), 1'024U);
  EXPECT_THAT(svg, HasSubstr("data-tip=\"rank 0 to rank 1, mean\nwork 4.00 ms\""));
}

TEST(StackedColumnsTest, FewBarsStayThemselves) {
  EXPECT_EQ(CountOf("<rect", RenderStackedColumns(ChartOf(40))), 80U);
}

TEST(SpreadChartTest, ARowSaysItsQuartiles) {
  const SpreadChart chart{.rows = {{.series = kTwoSeries[0],
                                    .smallest = 1e6,
                                    .lower_quartile = 2e6,
                                    .median = 3e6,
                                    .upper_quartile = 4e6,
                                    .largest = 8e6,
                                    .note = "most rank 5"}},
                          .quantity = Quantity::kNanoseconds,
                          .description = "spread"};

  const std::string svg = RenderSpreadChart(chart);

  EXPECT_THAT(svg, HasSubstr("median 3.00 ms\n"));
  EXPECT_THAT(svg, HasSubstr("largest 8.00 ms"));
  EXPECT_THAT(svg, HasSubstr(">most rank 5</text>"));
}

// 20 letters of 7 and 14 pixels to the plot; the two bytes of "µ" are one letter.
TEST(LabelWidthFor, MakesRoomForLongLabels) {
  EXPECT_EQ(LabelWidthFor({"rank 1", "rank 2"}), kLabelWidth);
  EXPECT_EQ(LabelWidthFor({"rank 1", "bert-inference of µs"}), 20 * 7 + 14);
}

// 280 pixels at most: (280 - 14) / 7 = 38 letters.
TEST(LabelWidthFor, LabelsThatHaveNoRoomEndInDots) {
  const std::string label(50, 'x');

  EXPECT_EQ(LabelWidthFor({label}), 280);
  EXPECT_EQ(FittedLabel(label), std::string(37, 'x') + "…");
  EXPECT_EQ(FittedLabel("rank 1"), "rank 1");
}

}  // namespace
}  // namespace orrery::draw
