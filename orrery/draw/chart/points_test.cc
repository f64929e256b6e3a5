#include <cstddef>
#include <limits>
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

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

ScatterChart ScatterOf(std::size_t num_points) {
  ScatterChart chart{.series = {{.name = "all-reduce", .style = "compute"}},
                     .points = {},
                     .x_quantity = Quantity::kBytes,
                     .y_quantity = Quantity::kBytesPerSecond,
                     .x_title = "size",
                     .y_title = "rate",
                     .description = "scatter"};
  for (std::size_t i = 0; i < num_points; ++i) {
    const auto number = static_cast<double>(i + 1);
    chart.points.push_back({.x = 1e3 * number, .y = 1e9 * (1 + static_cast<double>(i % 997))});
  }
  return chart;
}

TEST(ScatterTest, EqualPointsAreOneMarkThatSaysHowMany) {
  ScatterChart chart = ScatterOf(0);
  chart.points.assign(81, {.x = 67'108'864, .y = 194.8e9});

  const std::string svg = RenderScatter(chart);

  EXPECT_EQ(CountOf("class=\"dot", svg), 1U);
  EXPECT_THAT(svg, HasSubstr("data-tip=\"all-reduce\n67.1 MB\n195 GB/s\n81 such points\""));
}

TEST(ScatterTest, TheNumberOfMarksIsBounded) {
  EXPECT_LE(CountOf("class=\"dot", RenderScatter(ScatterOf(100'000))), 2'000U);
}

TEST(ScatterTest, ALimitAboveAllPointsIsInThePicture) {
  ScatterChart chart = ScatterOf(3);
  chart.lines = {{.label = "NVLink", .y = 450e9}};

  EXPECT_THAT(RenderScatter(chart), HasSubstr(">NVLink, 450 GB/s</text>"));
}

TEST(ScatterTest, NoPointsNoPicture) {
  EXPECT_EQ(RenderScatter(ScatterOf(0)), "");
}

// The plot is 964 wide from 92 on and 320 high from 30 on. 10 to 20 has 0.7 of room on both sides:
// 10 is at 92 + 964 · 0.7 / 11.4 = 151.2, 20 at 996.8. 0 to 100 has none below 0 and 7 above: 0 is
// at 350, 100 at 350 - 320 · 100 / 107 = 50.9.
TEST(ScatterTest, LinearAxesBeginNearTheFirstPoint) {
  ScatterChart chart = ScatterOf(0);
  chart.x_kind = chart.y_kind = Scale::Kind::kLinear;
  chart.points = {{.x = 10, .y = 100, .tip = "plan 1", .label = "best"}, {.x = 20, .y = 0}};
  chart.staircase = {{10, 100}, {20, 0}};

  const std::string svg = RenderScatter(chart);

  EXPECT_THAT(svg, HasSubstr("M151.2 50.9L996.8 50.9L996.8 350\" class=\"staircase\""));
  EXPECT_THAT(svg, HasSubstr("data-tip=\"plan 1\""));
  EXPECT_THAT(svg, HasSubstr("class=\"mark-label\">best</text>"));
}

TEST(MarkerTest, SeriesDifferInShape) {
  EXPECT_EQ(MarkerPath(0, {10, 10}, 5), "M5 10a5 5 0 1 0 10 0a5 5 0 1 0 -10 0z");
  EXPECT_EQ(MarkerPath(1, {10, 10}, 5), "M5.6 5.6L14.4 5.6L14.4 14.4L5.6 14.4z");
  EXPECT_NE(MarkerPath(2, {10, 10}, 5), MarkerPath(4, {10, 10}, 5));
  EXPECT_EQ(MarkerPath(6, {10, 10}, 5), MarkerPath(0, {10, 10}, 5));
}

// 117 ms is below 300 ms; then 100, 30 and 10 ms.
TEST(HeatLevelsTest, LimitsGoDownInThirdsOfDecades) {
  const std::vector<HeatLevel> levels = LogLevels(117e6, 4, "heat-", Quantity::kNanoseconds);

  ASSERT_EQ(levels.size(), 4U);
  EXPECT_EQ(levels[0].series.name, "≤ 10 ms");
  EXPECT_EQ(levels[1].series.name, "≤ 30 ms");
  EXPECT_EQ(levels[2].series.name, "≤ 100 ms");
  EXPECT_EQ(levels[3].series.name, "≤ 300 ms");
  EXPECT_EQ(levels[3].series.style, "heat-3");
}

HeatMap MapOf(std::size_t num_rows, std::size_t num_columns) {
  HeatMap map{.row_labels = {},
              .column_labels = {},
              .values = std::vector<double>(num_rows * num_columns),
              .levels = LogLevels(1e6, 8, "heat-", Quantity::kNanoseconds),
              .quantity = Quantity::kNanoseconds,
              .column_title = "collective",
              .description = "heat"};
  for (std::size_t row = 0; row < num_rows; ++row) {
    map.row_labels.push_back("rank " + std::to_string(row));
  }
  for (std::size_t column = 0; column < num_columns; ++column) {
    map.column_labels.push_back("call " + std::to_string(column));
  }
  return map;
}

TEST(HeatMapTest, ACellHasTheColourOfItsLevel) {
  HeatMap map = MapOf(1, 3);
  map.values = {0, 1e6, kNothing};

  const std::string svg = RenderHeatMap(map);

  EXPECT_EQ(CountOf("<rect", svg), 2U);
  EXPECT_EQ(CountOf("class=\"heat-0\"", svg), 1U);
  EXPECT_THAT(svg, HasSubstr("class=\"heat-7\" data-tip=\"call 1\n1.00 ms\""));
}

// 1,024 rows of 4 share a row: one late rank among early ones must stay visible.
TEST(HeatMapTest, TheLargestValueOfSharedRowsIsShown) {
  HeatMap map = MapOf(1'024, 1'000);
  map.values[500 * 1'000 + 7] = 1e6;

  const std::string svg = RenderHeatMap(map);

  EXPECT_EQ(CountOf("class=\"heat-7\"", svg), 1U);
  EXPECT_LT(CountElements(svg), 60U);
}

// The worst case for paths: no two neighbours alike.
TEST(HeatMapTest, APictureOfAMillionValuesStaysBelowFiveMegabytes) {
  HeatMap map = MapOf(1'024, 1'000);
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    map.values[i] = static_cast<double>(i * 2'654'435'761U % 1'000'000);
  }

  EXPECT_LT(RenderHeatMap(map).size(), 5'000'000U);
}

TEST(HeatMapTest, NothingToShowIsNoPicture) {
  EXPECT_EQ(RenderHeatMap(MapOf(0, 0)), "");
}

}  // namespace
}  // namespace orrery::draw
