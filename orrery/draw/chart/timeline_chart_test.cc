#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/chart/count_elements_test.h"

namespace orrery::draw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TimelineChart EmptyChart(std::int64_t end_ns) {
  return {.series = {{.name = "work", .style = "compute"}, {.name = "copy", .style = "memory"}},
          .background = {.name = "idle", .style = "idle"},
          .end_ns = end_ns,
          .description = "timeline"};
}

TimelineChart ChartOf(std::size_t num_rows, std::int64_t slices_per_row) {
  TimelineChart chart = EmptyChart(slices_per_row * 100);
  for (std::size_t row = 0; row < num_rows; ++row) {
    TimelineRow& added = chart.rows.emplace_back();
    added.label = "rank " + std::to_string(row);
    for (std::int64_t slice = 0; slice < slices_per_row; ++slice) {
      added.slices.push_back({.begin_ns = slice * 100,
                              .end_ns = slice * 100 + 60,
                              .series = static_cast<std::uint8_t>(slice % 2)});
    }
  }
  return chart;
}

// 30 letters of 7 and 14 pixels; the label ends 10 pixels before the plot.
TEST(TimelineChartTest, LongLabelsHaveRoom) {
  TimelineChart chart = ChartOf(1, 1);
  chart.rows[0].label = std::string(30, 'x');

  EXPECT_THAT(RenderTimeline(chart), HasSubstr("<text x=\"214"));
}

// The plot is 964 wide: half of the axis is 482.
TEST(TimelineChartTest, RowsMayEndBeforeTheAxis) {
  TimelineChart chart = EmptyChart(200);
  chart.rows.resize(1);
  chart.background_end_ns = 100;

  EXPECT_THAT(RenderTimeline(chart), HasSubstr("M92 4h482v"));
}

TEST(RowLayoutTest, FewRowsAreTallAndAllLabelled) {
  const RowLayout layout = RowLayout::For(8);

  EXPECT_EQ(layout.items_per_row, 1U);
  EXPECT_EQ(layout.pitch, 26);
  EXPECT_EQ(layout.LabelEvery(), 1U);
}

// At most 280 rows: 1,024 / 280 needs 4 a row, so 256 rows of 2 pixels. A label needs 16.5 pixels:
// every 16th row.
TEST(RowLayoutTest, ManyItemsShareRows) {
  const RowLayout layout = RowLayout::For(1'024);

  EXPECT_EQ(layout.items_per_row, 4U);
  EXPECT_EQ(layout.num_rows(), 256U);
  EXPECT_EQ(layout.height(), 512);
  EXPECT_EQ(layout.LabelEvery(), 16U);
}

TEST(RowLayoutTest, ASharedRowIsNamedAfterItsEnds) {
  std::vector<std::string> labels;
  for (int rank = 0; rank < 290; ++rank) {
    labels.push_back("rank " + std::to_string(rank));
  }
  const RowLayout layout = RowLayout::For(labels.size());

  EXPECT_EQ(LabelOfRow(layout, labels, 0), "rank 0 to rank 1");
  EXPECT_EQ(LabelOfRow(layout, labels, 144), "rank 288 to rank 289");
}

// Four columns of 10 ns. Column 0: work 6, copy 4. Column 1: copy 3, nothing 7. Column 2: work all.
TEST(PixelRowTest, AColumnShowsWhatLastsLongest) {
  const TimelineChart chart = EmptyChart(40);
  PixelRow row(chart, 4);

  row.Add({{.begin_ns = 0, .end_ns = 6, .series = 0},
           {.begin_ns = 6, .end_ns = 13, .series = 1},
           {.begin_ns = 20, .end_ns = 30, .series = 0}});

  EXPECT_THAT(row.Winners(), ElementsAre(0, 2, 0, 2));
}

TEST(PixelRowTest, SlicesComeFirstWhereTheyMustNotVanish) {
  TimelineChart chart = EmptyChart(40);
  chart.slices_first = true;
  PixelRow row(chart, 4);

  row.Add({{.begin_ns = 12, .end_ns = 13, .series = 1}});

  EXPECT_THAT(row.Winners(), ElementsAre(2, 1, 2, 2));
}

// Of three items two compute: the row computes.
TEST(PixelRowTest, ARowOfSeveralItemsShowsWhatMostOfThemDo) {
  const TimelineChart chart = EmptyChart(10);
  PixelRow row(chart, 1);

  row.Add({{.begin_ns = 0, .end_ns = 10, .series = 0}});
  row.Add({{.begin_ns = 0, .end_ns = 10, .series = 1}});
  row.Add({{.begin_ns = 0, .end_ns = 10, .series = 0}});

  EXPECT_THAT(row.Winners(), ElementsAre(0));
}

TEST(PixelRowTest, SlicesOutsideTheTimeAreCutOff) {
  const TimelineChart chart = EmptyChart(20);
  PixelRow row(chart, 2);

  row.Add({{.begin_ns = -50, .end_ns = 10, .series = 0}, {.begin_ns = 20, .end_ns = 90}});

  EXPECT_THAT(row.Winners(), ElementsAre(0, 2));
}

TEST(TimelineTest, FewSlicesAreDrawnOneByOne) {
  const std::string svg = RenderTimeline(ChartOf(8, 10));

  EXPECT_EQ(CountOf("<rect", svg), 80U);
  EXPECT_THAT(svg, HasSubstr("data-tip=\"work, 60 ns\""));
}

TEST(TimelineTest, TheNumberOfElementsDoesNotGrowWithTheSlices) {
  const std::string svg = RenderTimeline(ChartOf(1'024, 200));

  EXPECT_EQ(CountOf("<rect", svg), 0U);
  EXPECT_LT(CountElements(svg), 60U);
}

TEST(TimelineTest, JumpsAreOneLine) {
  TimelineChart chart = ChartOf(2, 2);
  chart.jumps = {{.time_ns = 100, .from_row = 0, .to_row = 1}};

  // The middle of the plot, 92 + 964 / 2, from the middle of a row of 22 pixels to the next.
  EXPECT_THAT(RenderTimeline(chart), HasSubstr("<path d=\"M574 15V41\" class=\"jump\""));
}

TEST(TimelineTest, ATimelineWithoutRowsIsAnEmptyPicture) {
  EXPECT_EQ(CountOf("<rect", RenderTimeline(EmptyChart(100))), 0U);
}

// A slice of 500 of 1,000 ns is 482 pixels wide, one of 5 ns 4.8: no room for two digits.
TEST(TimelineTest, LabelsStandInSlicesThatAreWideEnough) {
  TimelineChart chart = EmptyChart(1'000);
  chart.rows = {{.label = "stage 0",
                 .slices = {{.begin_ns = 0, .end_ns = 500, .series = 0, .label = "31"},
                            {.begin_ns = 500, .end_ns = 505, .series = 0, .label = "32"}}}};

  const std::string svg = RenderTimeline(chart);

  EXPECT_THAT(svg, HasSubstr(">31</text>"));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr(">32</text>")));
}

TEST(TimelineTest, StripsAreOnePathOfASeries) {
  TimelineChart chart = ChartOf(2, 4);
  const std::size_t elements = CountElements(RenderTimeline(chart));
  for (TimelineRow& row : chart.rows) {
    row.strip = {{.begin_ns = 0, .end_ns = 30, .series = 1},
                 {.begin_ns = 100, .end_ns = 130, .series = 1}};
  }

  // The pixels, and the finer ones for a page that is zoomed in.
  EXPECT_EQ(CountElements(RenderTimeline(chart)), elements + 2);
}

// The plot of 964 pixels and 8 rows can have 10 columns a pixel: 77,120 are less than 80,000. With
// 16 rows only 5 (77,120), with 90 none: 2 a pixel would be 173,520.
TEST(TimelineTest, PixelsAreFinerForAPageThatIsZoomedInWhileThereAreFewRows) {
  EXPECT_THAT(RenderTimeline(ChartOf(8, 2'000)), HasSubstr("data-zoom=\"40\""));
  EXPECT_THAT(RenderTimeline(ChartOf(8, 2'000)), HasSubstr("class=\"fine compute\""));
  EXPECT_THAT(RenderTimeline(ChartOf(16, 2'000)), HasSubstr("data-zoom=\"20\""));
  EXPECT_THAT(RenderTimeline(ChartOf(90, 2'000)), HasSubstr("data-zoom=\"4\""));
  EXPECT_THAT(RenderTimeline(ChartOf(90, 2'000)), ::testing::Not(HasSubstr("fine")));
}

// 1 of 100,000 ns is 0.00964 pixels: drawn with 0.6, and the page knows how wide it is. The label
// of 200 ns, 1.9 pixels, has room when the page is zoomed in.
TEST(TimelineTest, APageKnowsTheWidthAndTheLabelOfANarrowSlice) {
  TimelineChart chart = EmptyChart(100'000);
  chart.rows = {{.label = "stage 0",
                 .slices = {{.begin_ns = 0, .end_ns = 1, .series = 0},
                            {.begin_ns = 50'000, .end_ns = 50'200, .series = 0, .label = "7"}}}};

  const std::string svg = RenderTimeline(chart);

  EXPECT_THAT(svg, HasSubstr("width=\"0.6\" height=\"22\" class=\"compute\" data-width=\"0.010\""));
  EXPECT_THAT(svg, HasSubstr("x=\"574\" y=\"4\" width=\"1.928\" height=\"22\" class=\"compute\" "
                             "data-label=\"7\""));
}

// The plot is a view of its own, cut off at its border, so that a part of it can be shown larger.
TEST(TimelineTest, ThePlotIsAView) {
  EXPECT_THAT(RenderTimeline(ChartOf(2, 2)),
              HasSubstr("<svg x=\"92\" y=\"4\" width=\"964\" height=\"52\" "
                        "viewBox=\"92 4 964 52\" preserveAspectRatio=\"none\">"));
}

}  // namespace
}  // namespace orrery::draw
