#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/draw/chart/charts.h"
#include "orrery/draw/chart/count_elements_test.h"

namespace orrery::draw {
namespace {

using testing::HasSubstr;

TEST(RankedBars, EachBarHasItsNameAndNote) {
  const RankedBars chart{.series = {.name = "launches", .style = "compute"},
                         .bars = {{.label = "add<int>", .value = 3, .note = "3, 13 µs"},
                                  {.label = std::string(80, 'x'), .value = 1}}};
  const std::string svg = RenderRankedBars(chart);
  EXPECT_EQ(CountOf("<rect", svg), 2U);
  EXPECT_THAT(svg, HasSubstr("add&lt;int&gt;"));
  EXPECT_THAT(svg, HasSubstr("3, 13 µs"));
  EXPECT_THAT(svg, HasSubstr("x…"));
}

// From 420 to 930 of the picture: a value of half the largest ends half way, 255 further.
TEST(RankedBars, LengthsAreInProportion) {
  const RankedBars chart{.series = {.name = "n", .style = "compute"},
                         .bars = {{.label = "a", .value = 8}, {.label = "b", .value = 4}}};
  const std::string svg = RenderRankedBars(chart);
  EXPECT_THAT(svg, HasSubstr("width=\"510\""));
  EXPECT_THAT(svg, HasSubstr("width=\"255\""));
}

TEST(RankedBars, WithoutBarsThereIsNoPicture) {
  EXPECT_EQ(RenderRankedBars({}), "");
}

}  // namespace
}  // namespace orrery::draw
