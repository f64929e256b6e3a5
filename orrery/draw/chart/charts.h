#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/draw/chart/canvas.h"

namespace orrery::draw {

/// Parts of one whole, in the order of the chart's series.
struct StackedBar {
  std::string label;
  std::vector<double> values = {};
  std::string note = {};      // at the end of the bar
  bool stands_apart = false;  // some room follows: a mean above its parts
};

struct StackedBars {
  std::vector<Series> series = {};
  std::vector<StackedBar> bars = {};
  Quantity quantity = Quantity::kNumber;
  std::string description = {};
  std::string title_along = {};  // of the axis along the columns
  double along_end = 0;          // total extent of the columns; 0: their number
  Quantity along_quantity = Quantity::kNumber;
  std::string roof_label = {};  // of a level to compare columns with; empty: none
  double roof = 0;
  bool has_axis = true;  // of bars; columns always have theirs
};

/// Draws one horizontal bar a row, with shares in the parts that have room. For a few dozen bars.
[[nodiscard]] std::string RenderStackedBars(const StackedBars& chart);

/// Draws the bars as thin upright columns side by side; above `max_columns` neighbours are
/// averaged, so the number of elements is bounded whatever the number of bars.
[[nodiscard]] std::string RenderStackedColumns(const StackedBars& chart,
                                               std::size_t max_columns = 520);

/// A bar with a long name.
struct RankedBar {
  std::string label;
  double value = 0;
  std::string note = {};   // behind the bar
  std::string tip = {};    // for the pointer
  std::string style = {};  // instead of the series'
};

struct RankedBars {
  Series series;
  std::vector<RankedBar> bars = {};
  Quantity quantity = Quantity::kNumber;
  std::string description = {};
};

/// Draws a bar a row, with room for names of functions in front. For a few dozen bars; without any
/// there is no picture.
[[nodiscard]] std::string RenderRankedBars(const RankedBars& chart);

/// The distribution of the values of one series.
struct Spread {
  Series series;
  double smallest = 0;
  double lower_quartile = 0;
  double median = 0;
  double upper_quartile = 0;
  double largest = 0;
  std::string note = {};  // at the right: who the extremes are
};

struct SpreadChart {
  std::vector<Spread> rows = {};
  Quantity quantity = Quantity::kNumber;
  std::string description = {};
};

/// Draws a row for each spread: a bar up to the median, a line from the smallest to the largest
/// value, thick over the middle half.
[[nodiscard]] std::string RenderSpreadChart(const SpreadChart& chart);

/// A value that holds from `begin` to `end`.
struct LineSegment {
  double begin = 0;
  double end = 0;
  double value = 0;
};

/// One line: segments in order; between segments that do not touch there is a gap.
struct ChartLine {
  Series series = {};
  std::vector<LineSegment> segments = {};
};

/// A segment to point at.
struct LineMark {
  std::size_t line = 0;
  LineSegment segment;
  std::string label;
};

/// A level to compare with.
struct LineRoof {
  std::string label;
  double value = 0;
};

struct LineChart {
  std::vector<ChartLine> lines = {};
  std::vector<LineMark> marks = {};
  std::optional<LineRoof> roof = {};
  Quantity x_quantity = Quantity::kNumber;
  Quantity y_quantity = Quantity::kNumber;
  std::string x_title = {};
  std::string y_title = {};
  std::string description = {};
};

/// Draws values over x as steps, from zero up: each segment is level, so that nothing is drawn that
/// was not measured. Without segments there is no picture.
[[nodiscard]] std::string RenderLineChart(const LineChart& chart);

/// Returns the legend of its lines.
[[nodiscard]] std::vector<Series> LineLegend(const LineChart& chart);

struct ScatterPoint {
  double x = 0;  // above zero, as y, where its axis is logarithmic
  double y = 0;
  std::size_t series = 0;
  std::string tip = {};    // for the pointer, instead of series and values
  std::string label = {};  // beside the mark
};

/// A level line across the plot: a limit to compare with.
struct ScatterLine {
  std::string label;
  double y = 0;
};

struct ScatterChart {
  std::vector<Series> series = {};
  std::vector<ScatterPoint> points = {};
  std::vector<ScatterLine> lines = {};
  std::vector<Point> staircase = {};  // by x: levels from each point to the next, drawn first
  Quantity x_quantity = Quantity::kNumber;
  Quantity y_quantity = Quantity::kNumber;
  std::string x_title;
  std::string y_title;
  std::string description;
  Scale::Kind x_kind = Scale::Kind::kLog;
  Scale::Kind y_kind = Scale::Kind::kLog;
};

/// Draws points in a plane, each series with a shape of its own, the last series on top. Points of
/// one series that would cover each other become one larger mark, so there are at most a few
/// thousand.
[[nodiscard]] std::string RenderScatter(const ScatterChart& chart);

/// Returns the legend of a scatter chart, with the shapes.
[[nodiscard]] std::vector<Series> ScatterLegend(const ScatterChart& chart);

/// One axis of several that stand side by side.
struct ParallelAxis {
  std::string title;
  std::vector<std::string> names = {};  // of values, the first at the bottom; empty: numbers
  Quantity quantity = Quantity::kNumber;
};

/// One thing with a value on each axis: a number, or the place of a name.
struct ParallelLine {
  std::vector<double> values = {};
  std::string style;
  std::string tip = {};
  bool is_emphasized = false;
};

struct ParallelChart {
  std::vector<ParallelAxis> axes = {};
  std::vector<ParallelLine> lines = {};  // the first on top
  std::string description;
};

/// Draws parallel coordinates. Lines that have the same name on an axis pass beside each other. For
/// a few dozen lines and up to a dozen axes; without lines, or with one axis, there is no picture.
[[nodiscard]] std::string RenderParallel(const ParallelChart& chart);

/// A range of values that share a colour: above the level before, up to `limit`.
struct HeatLevel {
  double limit = 0;
  Series series;
};

/// Returns levels whose limits go 1, 3, 10, 30, … up to `largest` or just above it; styles are
/// `style` with the number of the level, from 0.
[[nodiscard]] std::vector<HeatLevel> LogLevels(double largest, std::size_t num_levels,
                                               const std::string& style, Quantity quantity);

struct HeatMap {
  std::vector<std::string> row_labels;
  std::vector<std::string> column_labels;  // for the pointer
  std::vector<double> values = {};         // row by row; NaN: nothing there
  std::vector<HeatLevel> levels = {};
  Quantity quantity = Quantity::kNumber;
  std::string column_title;
  std::string description;
};

/// Draws values as coloured cells. Where there are more rows or columns than room, a cell shows the
/// largest value of those it stands for; above a few thousand cells there is a path for each
/// colour.
[[nodiscard]] std::string RenderHeatMap(const HeatMap& map);

/// Returns the legend of its levels.
[[nodiscard]] std::vector<Series> HeatLegend(const HeatMap& map);

struct TimelineSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint8_t series = 0;
  std::string tip = {};    // in addition to name and duration, where slices are drawn one by one
  std::string label = {};  // in the slice, where it fits
};

/// Slices in order of begin that do not overlap; between them is the background. `strip` is a thin
/// line below the slices for the events inside them; it is drawn as pixels, however many there are.
struct TimelineRow {
  std::string label;
  std::vector<TimelineSlice> slices = {};
  std::vector<TimelineSlice> strip = {};
};

/// A line from one row to another at one instant.
struct TimelineJump {
  std::int64_t time_ns = 0;
  std::size_t from_row = 0;
  std::size_t to_row = 0;
};

struct TimelineChart {
  std::vector<Series> series = {};
  Series background = {};
  std::vector<TimelineRow> rows = {};
  std::vector<TimelineJump> jumps = {};
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::string description;
  /// Decides what a pixel shows that covers several slices. False: the longest. True: a slice
  /// rather than the background, for slices that must stay visible.
  bool slices_first = false;
  double row_height = 0;  // at least so many pixels from row to row, where rows are not shared
  std::int64_t background_end_ns = 0;  // end of the rows if before that of the axis; 0: the same
  std::string axis_title = "time since the step began";
};

/// Adds up, for each of the pixel columns of one row of a timeline, how long each series lasts in
/// it. Costs a step for each slice and each pixel that it covers.
class PixelRow {
 public:
  PixelRow(const TimelineChart& chart, std::size_t num_columns);

  void Add(const std::vector<TimelineSlice>& slices);

  /// Returns what each column shows; chart.series.size() is the background.
  [[nodiscard]] std::vector<std::size_t> Winners() const;

 private:
  std::int64_t TimeOf(std::size_t column) const;
  std::size_t ColumnOf(std::int64_t time_ns) const;
  std::size_t WinnerOf(std::size_t column) const;
  void AddSlice(const TimelineSlice& slice);

  const TimelineChart* chart_;
  std::size_t num_columns_;
  std::size_t num_series_;
  std::int64_t num_items_ = 0;
  std::vector<std::int64_t> covered_ns_;  // [column][series]
};

/// Up to this many slices are drawn one by one, each with a text for the pointer.
inline constexpr std::size_t kMaxSingleSlices = 3'000;

/// Draws what happened in each row over time. Above kMaxSingleSlices the picture is made of pixels,
/// and beyond a few hundred rows one row stands for several (what most of them do). The script of a
/// page can zoom it: "data-zoom" says how far it has detail, and "fine" are pixels to show then.
[[nodiscard]] std::string RenderTimeline(const TimelineChart& chart);

}  // namespace orrery::draw
