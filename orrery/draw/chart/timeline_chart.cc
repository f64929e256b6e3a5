#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"

namespace orrery::draw {
namespace {

constexpr double kNarrowest = 0.6;          // of a slice, so that short ones can be seen
constexpr double kStripShare = 0.24;        // of a row's height
constexpr double kTallForText = 13;         // of a row
constexpr double kDigitWidth = 7.2;         // of a label, with some room
constexpr std::size_t kSingleZoom = 1'000;  // slices drawn one by one have three decimals
constexpr double kFineColumns = 80'000;     // of all rows, for pages of less than a megabyte

struct Frame {
  RowLayout layout;
  Box plot;
  Scale time;
};

std::vector<std::string> LabelsOf(const TimelineChart& chart) {
  std::vector<std::string> labels;
  for (const TimelineRow& row : chart.rows) {
    labels.push_back(row.label);
  }
  return labels;
}

Frame FrameOf(const TimelineChart& chart) {
  const double label_width = LabelWidthFor(LabelsOf(chart));
  Frame frame;
  frame.layout = RowLayout::For(chart.rows.size());
  if (frame.layout.items_per_row == 1) {
    frame.layout.pitch = std::max(frame.layout.pitch, chart.row_height);
  }
  frame.plot = {.x = label_width,
                .y = 4,
                .width = kChartWidth - label_width - kRightMargin,
                .height = frame.layout.height()};
  frame.time = {.low = static_cast<double>(chart.begin_ns),
                .high = static_cast<double>(chart.end_ns),
                .first = frame.plot.x,
                .last = frame.plot.right()};
  return frame;
}

Box RowBox(const Frame& frame, std::size_t row) {
  return {.x = frame.plot.x,
          .y = frame.plot.y + frame.layout.TopOf(row),
          .width = frame.plot.width,
          .height = frame.layout.pitch - frame.layout.gap};
}

void DrawBackground(const TimelineChart& chart, const Frame& frame, SvgWriter& svg) {
  TileLayer layer(1);
  for (std::size_t row = 0; row < frame.layout.num_rows(); ++row) {
    Box box = RowBox(frame, row);
    if (chart.background_end_ns > 0) {
      box.width = frame.time(static_cast<double>(chart.background_end_ns)) - box.x;
    }
    layer.Add(box, 0);
  }
  layer.Draw({chart.background}, svg);
}

// The number of columns per pixel for a page that is zoomed in. Coordinates have one decimal: at
// most ten.
std::size_t FinePerPixel(const Frame& frame) {
  const double columns = frame.plot.width * static_cast<double>(frame.layout.num_rows());
  for (const std::size_t per_pixel : {std::size_t{10}, std::size_t{5}, std::size_t{2}}) {
    if (columns * static_cast<double>(per_pixel) <= kFineColumns) {
      return per_pixel;
    }
  }
  return 1;
}

bool DrawsSingly(const TimelineChart& chart, const Frame& frame) {
  std::size_t num_slices = 0;
  for (const TimelineRow& row : chart.rows) {
    num_slices += row.slices.size();
  }
  return num_slices <= kMaxSingleSlices && frame.layout.items_per_row == 1;
}

std::string TipOf(const TimelineChart& chart, const TimelineSlice& slice) {
  const double length_ns = static_cast<double>(slice.end_ns - slice.begin_ns);
  return fmt::format("{}{}{}, {}", slice.tip, slice.tip.empty() ? "" : "\n",
                     chart.series[slice.series].name,
                     QuantityText(length_ns, Quantity::kNanoseconds));
}

bool HasRoom(const std::string& label, const Box& box) {
  const double room = kDigitWidth * (static_cast<double>(label.size()) + 0.4);
  return box.width >= room && box.height >= kTallForText;
}

void DrawLabel(const TimelineChart& chart, const TimelineSlice& slice, const Box& box,
               SvgWriter& svg) {
  if (!slice.label.empty() && HasRoom(slice.label, box)) {
    svg.Text({box.x + box.width / 2, box.y + box.height / 2 + 4}, slice.label,
             {.style = "on-" + chart.series[slice.series].style, .anchor = Anchor::kMiddle});
  }
}

// Data for a page that is zoomed in: the true width of a slice that is drawn wider, and a label
// that has no room yet.
std::string DataOf(const TimelineSlice& slice, const Box& box) {
  if (box.width < kNarrowest) {
    return fmt::format(" data-width=\"{:.3f}\"", box.width);
  }
  const bool waits = !slice.label.empty() && box.height >= kTallForText;
  return waits && !HasRoom(slice.label, box)
             ? fmt::format(" data-label=\"{}\"", EscapeMarkup(slice.label))
             : "";
}

void DrawSlices(const TimelineChart& chart, const Frame& frame, SvgWriter& svg) {
  for (std::size_t row = 0; row < chart.rows.size(); ++row) {
    for (const TimelineSlice& slice : chart.rows[row].slices) {
      const auto begin = static_cast<double>(std::max(slice.begin_ns, chart.begin_ns));
      const auto end = static_cast<double>(std::min(slice.end_ns, chart.end_ns));
      if (begin >= end) {
        continue;
      }
      Box box = RowBox(frame, row);
      box.x = frame.time(begin);
      box.width = frame.time(end) - box.x;
      const std::string data = DataOf(slice, box);
      box.width = std::max(kNarrowest, box.width);
      svg.Rect(
          box,
          {.style = chart.series[slice.series].style, .tip = TipOf(chart, slice), .data = data});
      DrawLabel(chart, slice, box, svg);
    }
  }
}

// One row of pixels, and where it is.
struct DrawnPixels {
  std::vector<std::size_t> winners;
  Box box;
};

// Calls `add` with the box and the series of each run of equal pixels.
template <typename Add>
void ForEachRun(const DrawnPixels& row, std::size_t background, Add&& add) {
  const double width = row.box.width / static_cast<double>(row.winners.size());
  for (std::size_t first = 0; first < row.winners.size();) {
    std::size_t end = first + 1;
    while (end < row.winners.size() && row.winners[end] == row.winners[first]) {
      ++end;
    }
    if (row.winners[first] != background) {
      Box box = row.box;
      box.x += width * static_cast<double>(first);
      box.width = width * static_cast<double>(end - first);
      add(box, row.winners[first]);
    }
    first = end;
  }
}

void DrawCoarse(const TimelineChart& chart, const std::vector<DrawnPixels>& rows, bool has_fine,
                SvgWriter& svg) {
  TileLayer layer(chart.series.size());
  for (const DrawnPixels& row : rows) {
    ForEachRun(row, chart.series.size(),
               [&](const Box& box, std::size_t series) { layer.Add(box, series); });
  }
  std::vector<Series> styled = chart.series;
  for (Series& one : styled) {
    one.style = (has_fine ? "coarse " : "") + one.style;
  }
  layer.Draw(styled, svg);
}

// A line as thick as the row takes a third of the letters of tiles.
void DrawFine(const TimelineChart& chart, const std::vector<DrawnPixels>& rows, SvgWriter& svg) {
  std::vector<std::string> paths(chart.series.size());
  for (const DrawnPixels& row : rows) {
    std::vector<double> ends(paths.size(), -1);
    ForEachRun(row, paths.size(), [&](const Box& box, std::size_t series) {
      if (ends[series] < 0) {
        AppendPoint('M', {box.x, box.y + box.height / 2}, paths[series]);
      } else {
        AppendPoint('m', {box.x - ends[series], 0}, paths[series]);
      }
      paths[series] += 'h';
      AppendCoordinate(box.width, paths[series]);
      ends[series] = box.right();
    });
  }
  for (std::size_t series = 0; series < paths.size(); ++series) {
    if (!paths[series].empty()) {
      svg.Path(paths[series],
               {.style = "fine " + chart.series[series].style,
                .tip = chart.series[series].name,
                .data = fmt::format(" stroke-width=\"{:.1f}\"", rows.front().box.height)});
    }
  }
}

enum class Shown { kSlices, kStrips };

void AddItems(const TimelineChart& chart, std::size_t first, std::size_t end, Shown shown,
              PixelRow& pixels) {
  for (std::size_t item = first; item < end; ++item) {
    if (shown == Shown::kSlices) {
      pixels.Add(chart.rows[item].slices);
    } else if (item == first) {  // of the first only: strips of several would hide each other
      pixels.Add(chart.rows[item].strip);
    }
  }
}

std::vector<DrawnPixels> PixelsOf(const TimelineChart& chart, const Frame& frame, Shown shown,
                                  std::size_t per_pixel) {
  std::vector<DrawnPixels> rows;
  const std::size_t per_row = frame.layout.items_per_row;
  for (std::size_t row = 0; row < frame.layout.num_rows(); ++row) {
    PixelRow pixels(chart, static_cast<std::size_t>(frame.plot.width) * per_pixel);
    AddItems(chart, row * per_row, std::min((row + 1) * per_row, chart.rows.size()), shown, pixels);
    Box box = RowBox(frame, row);
    if (shown == Shown::kStrips) {
      box.y += box.height * (1 - kStripShare);
      box.height *= kStripShare;
    }
    rows.push_back({.winners = pixels.Winners(), .box = box});
  }
  return rows;
}

// Draws pixels, and finer ones, hidden, for a page that is zoomed in.
void DrawPixels(const TimelineChart& chart, const Frame& frame, Shown shown, SvgWriter& svg) {
  const std::size_t fine = FinePerPixel(frame);
  DrawCoarse(chart, PixelsOf(chart, frame, shown, 1), fine > 1, svg);
  if (fine > 1) {
    DrawFine(chart, PixelsOf(chart, frame, shown, fine), svg);
  }
}

void DrawJumps(const TimelineChart& chart, const Frame& frame, SvgWriter& svg) {
  std::string path;
  for (const TimelineJump& jump : chart.jumps) {
    const Box from = RowBox(frame, jump.from_row / frame.layout.items_per_row);
    const Box to = RowBox(frame, jump.to_row / frame.layout.items_per_row);
    AppendPoint('M', {frame.time(static_cast<double>(jump.time_ns)), from.y + from.height / 2},
                path);
    path += 'V';
    AppendCoordinate(to.y + to.height / 2, path);
  }
  if (!path.empty()) {
    svg.Path(path, {.style = "jump"});
  }
}

}  // namespace

PixelRow::PixelRow(const TimelineChart& chart, std::size_t num_columns)
    : chart_(&chart),
      num_columns_(num_columns),
      num_series_(chart.series.size()),
      covered_ns_(num_columns * num_series_) {}

void PixelRow::Add(const std::vector<TimelineSlice>& slices) {
  ++num_items_;
  for (const TimelineSlice& slice : slices) {
    AddSlice(slice);
  }
}

std::vector<std::size_t> PixelRow::Winners() const {
  std::vector<std::size_t> winners(num_columns_);
  for (std::size_t column = 0; column < num_columns_; ++column) {
    winners[column] = WinnerOf(column);
  }
  return winners;
}

// The span is cut into equal columns; the rounding is that of whole nanoseconds.
std::int64_t PixelRow::TimeOf(std::size_t column) const {
  const auto span_ns = static_cast<double>(chart_->end_ns - chart_->begin_ns);
  return chart_->begin_ns + static_cast<std::int64_t>(span_ns * static_cast<double>(column) /
                                                      static_cast<double>(num_columns_));
}

std::size_t PixelRow::ColumnOf(std::int64_t time_ns) const {
  const auto span_ns = static_cast<double>(chart_->end_ns - chart_->begin_ns);
  const double share = static_cast<double>(time_ns - chart_->begin_ns) / span_ns;
  const auto column = static_cast<std::size_t>(share * static_cast<double>(num_columns_));
  return std::min(column, num_columns_ - 1);
}

void PixelRow::AddSlice(const TimelineSlice& slice) {
  const std::int64_t begin_ns = std::max(slice.begin_ns, chart_->begin_ns);
  const std::int64_t end_ns = std::min(slice.end_ns, chart_->end_ns);
  if (begin_ns >= end_ns) {
    return;
  }
  for (std::size_t column = ColumnOf(begin_ns); column < num_columns_; ++column) {
    if (TimeOf(column) >= end_ns) {
      break;
    }
    const std::int64_t inside_ns =
        std::min(end_ns, TimeOf(column + 1)) - std::max(begin_ns, TimeOf(column));
    covered_ns_[column * num_series_ + slice.series] += std::max<std::int64_t>(inside_ns, 0);
  }
}

std::size_t PixelRow::WinnerOf(std::size_t column) const {
  const auto first = covered_ns_.begin() + static_cast<std::ptrdiff_t>(column * num_series_);
  const auto last = first + static_cast<std::ptrdiff_t>(num_series_);
  const auto longest = std::max_element(first, last);
  if (longest == last) {
    return num_series_;
  }
  std::int64_t background_ns = num_items_ * (TimeOf(column + 1) - TimeOf(column));
  for (auto covered = first; covered != last; ++covered) {
    background_ns -= *covered;
  }
  const bool shows_slice = chart_->slices_first ? *longest > 0 : *longest >= background_ns;
  return shows_slice && *longest > 0 ? static_cast<std::size_t>(longest - first) : num_series_;
}

std::string RenderTimeline(const TimelineChart& chart) {
  const Frame frame = FrameOf(chart);
  SvgWriter svg(kChartWidth, frame.plot.bottom() + kAxisHeight + kTitleHeight, chart.description);
  const bool draws_singly = DrawsSingly(chart, frame);
  svg.Attribute("data-zoom", std::to_string(draws_singly ? kSingleZoom : 4 * FinePerPixel(frame)));
  AddHoverAlongX(frame.time, Quantity::kNanoseconds, svg);
  AddHoverAlongRows(frame.layout, LabelsOf(chart), frame.plot, svg);
  DrawHorizontalAxis({.scale = frame.time,
                      .quantity = Quantity::kNanoseconds,
                      .title = chart.axis_title,
                      .max_ticks = 10},
                     frame.plot, svg);
  svg.BeginView(frame.plot).Decimals(3);
  DrawBackground(chart, frame, svg);
  if (draws_singly) {
    DrawSlices(chart, frame, svg);
  } else {
    DrawPixels(chart, frame, Shown::kSlices, svg);
  }
  DrawPixels(chart, frame, Shown::kStrips, svg);
  DrawJumps(chart, frame, svg);
  svg.EndView();
  DrawRowLabels(frame.layout, LabelsOf(chart), frame.plot, svg);
  return svg.Finish();
}

}  // namespace orrery::draw
