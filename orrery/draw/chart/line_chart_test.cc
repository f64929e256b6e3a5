#include <algorithm>
#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/draw/chart/charts.h"

namespace orrery::draw {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LineChartTest, WithoutValuesThereIsNoPicture) {
  EXPECT_THAT(RenderLineChart({.lines = {{.series = {.name = "tx", .style = "compute"}}}}),
              IsEmpty());
}

// The plot is 964 wide from x = 92; from 0 to 4 a unit is 241. A segment is one move and one line;
// the second touches the first, the third stands alone.
TEST(LineChartTest, AGapIsNotBridged) {
  const std::string svg =
      RenderLineChart({.lines = {{.series = {.name = "tx", .style = "compute"},
                                  .segments = {{0, 1, 10}, {1, 2, 5}, {3, 4, 10}}}}});

  const std::size_t path = svg.find("d=\"M92 ");
  ASSERT_NE(path, std::string::npos);
  const std::string data = svg.substr(path, svg.find('"', path + 3) - path);
  EXPECT_EQ(std::count(data.begin(), data.end(), 'M'), 2);
  EXPECT_EQ(std::count(data.begin(), data.end(), 'L'), 4);
  EXPECT_THAT(data, HasSubstr("M815 "));
}

TEST(LineChartTest, MarksAndRoofAreNamed) {
  const std::string svg = RenderLineChart(
      {.lines = {{.series = {.name = "tx", .style = "compute"}, .segments = {{0, 1, 10}}}},
       .marks = {{.line = 0, .segment = {0, 1, 10}, .label = "peak <1>"}},
       .roof = LineRoof{.label = "link", .value = 50}});

  EXPECT_THAT(svg, HasSubstr("peak &lt;1&gt;"));
  EXPECT_THAT(svg, HasSubstr("link, 50"));
}

}  // namespace
}  // namespace orrery::draw
