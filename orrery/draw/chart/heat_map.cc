#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"

namespace orrery::draw {
namespace {

constexpr std::size_t kMaxColumns = 480;
constexpr std::size_t kMaxSingleCells = 3'000;
constexpr double kWidestCell = 40;
constexpr double kOverlap = 0.4;  // with the next cell, so that no seam shows when a page scales
constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

struct Grid {
  RowLayout rows;
  std::size_t items_per_column = 1;
  std::size_t num_columns = 0;
  Box plot;
  std::vector<double> values;  // [row][column], the largest of what a cell stands for

  [[nodiscard]] double At(std::size_t row, std::size_t column) const {
    return values[row * num_columns + column];
  }

  [[nodiscard]] double LeftOf(std::size_t column) const {
    return plot.x + plot.width * static_cast<double>(column) / static_cast<double>(num_columns);
  }

  [[nodiscard]] Box CellBox(std::size_t row, std::size_t first, std::size_t end) const {
    return {.x = LeftOf(first),
            .y = plot.y + rows.TopOf(row),
            .width = LeftOf(end) - LeftOf(first) + kOverlap,
            .height = rows.pitch - rows.gap};
  }
};

void Raise(double& largest, double value) {
  if (!std::isnan(value) && !(largest >= value)) {
    largest = value;
  }
}

std::vector<double> LargestOfCells(const HeatMap& map, const Grid& grid) {
  std::vector<double> cells(grid.rows.num_rows() * grid.num_columns, kNothing);
  const std::size_t width = map.column_labels.size();
  for (std::size_t i = 0; i < map.values.size(); ++i) {
    const std::size_t row = i / width / grid.rows.items_per_row;
    const std::size_t column = i % width / grid.items_per_column;
    Raise(cells[row * grid.num_columns + column], map.values[i]);
  }
  return cells;
}

Grid GridOf(const HeatMap& map) {
  Grid grid;
  grid.rows = RowLayout::For(map.row_labels.size());
  const std::size_t width = map.column_labels.size();
  grid.items_per_column = std::max<std::size_t>(1, (width + kMaxColumns - 1) / kMaxColumns);
  grid.num_columns = (width + grid.items_per_column - 1) / grid.items_per_column;
  const double label_width = LabelWidthFor(map.row_labels);
  grid.plot = {.x = label_width,
               .y = 4,
               .width = std::min(kChartWidth - label_width - kRightMargin,
                                 kWidestCell * static_cast<double>(grid.num_columns)),
               .height = grid.rows.height()};
  grid.values = LargestOfCells(map, grid);
  return grid;
}

std::size_t LevelOf(const std::vector<HeatLevel>& levels, double value) {
  const auto level = std::ranges::lower_bound(levels, value, {}, &HeatLevel::limit);
  return std::min(static_cast<std::size_t>(level - levels.begin()), levels.size() - 1);
}

void DrawSingleCells(const HeatMap& map, const Grid& grid, SvgWriter& svg) {
  for (std::size_t row = 0; row < grid.rows.num_rows(); ++row) {
    for (std::size_t column = 0; column < grid.num_columns; ++column) {
      const double value = grid.At(row, column);
      if (!std::isnan(value)) {
        svg.Rect(grid.CellBox(row, column, column + 1),
                 {.style = map.levels[LevelOf(map.levels, value)].series.style,
                  .tip = fmt::format("{}\n{}", map.column_labels[column],
                                     QuantityText(value, map.quantity))});
      }
    }
  }
}

// The level of a cell, or the number of levels where there is nothing.
std::size_t LevelAt(const HeatMap& map, const Grid& grid, std::size_t row, std::size_t column) {
  const double value = grid.At(row, column);
  return std::isnan(value) ? map.levels.size() : LevelOf(map.levels, value);
}

void DrawTiles(const HeatMap& map, const Grid& grid, SvgWriter& svg) {
  TileLayer layer(map.levels.size());
  for (std::size_t row = 0; row < grid.rows.num_rows(); ++row) {
    for (std::size_t first = 0; first < grid.num_columns;) {
      const std::size_t level = LevelAt(map, grid, row, first);
      std::size_t end = first + 1;
      while (end < grid.num_columns && LevelAt(map, grid, row, end) == level) {
        ++end;
      }
      if (level < map.levels.size()) {
        layer.Add(grid.CellBox(row, first, end), level);
      }
      first = end;
    }
  }
  layer.Draw(HeatLegend(map), svg);
}

double LadderStepAbove(double value) {
  double step = 1;
  bool is_power = true;  // of ten: the next is three times it
  while (step < value) {
    step = is_power ? step * 3 : step / 3 * 10;
    is_power = !is_power;
  }
  return step;
}

double LadderStepBelow(double step) {
  const double third = step / 3;
  // A power of ten is not three times a whole power of ten.
  const bool is_power = std::abs(std::log10(step) - std::round(std::log10(step))) < 1e-9;
  return is_power ? step / 10 * 3 : third;
}

}  // namespace

std::vector<HeatLevel> LogLevels(double largest, std::size_t num_levels, const std::string& style,
                                 Quantity quantity) {
  std::vector<HeatLevel> levels(num_levels);
  double limit = LadderStepAbove(largest);
  for (std::size_t level = num_levels; level-- > 0;) {
    levels[level] = {.limit = limit,
                     .series = {.name = "≤ " + TickText(limit, quantity),
                                .style = style + std::to_string(level)}};
    limit = LadderStepBelow(limit);
  }
  return levels;
}

std::vector<Series> HeatLegend(const HeatMap& map) {
  std::vector<Series> series;
  for (const HeatLevel& level : map.levels) {
    series.push_back(level.series);
  }
  return series;
}

std::string RenderHeatMap(const HeatMap& map) {
  ORRERY_CHECK(map.values.size() == map.row_labels.size() * map.column_labels.size(),
               "each cell has a value");
  if (map.values.empty() || map.levels.empty()) {
    return {};
  }
  const Grid grid = GridOf(map);
  SvgWriter svg(kChartWidth, grid.plot.bottom() + kAxisHeight + kTitleHeight, map.description);
  svg.Attribute("shape-rendering", "crispEdges");
  AddHoverAlongRows(grid.rows, map.row_labels, grid.plot, svg);
  const Scale along{.low = 0,
                    .high = static_cast<double>(map.column_labels.size()),
                    .first = grid.plot.x,
                    .last = grid.plot.right()};
  DrawHorizontalAxis({.scale = along, .title = map.column_title, .max_ticks = 12}, grid.plot, svg);
  if (grid.rows.num_rows() * grid.num_columns <= kMaxSingleCells && grid.items_per_column == 1) {
    DrawSingleCells(map, grid, svg);
  } else {
    AddHoverAlongX(along, Quantity::kNumber, svg);
    DrawTiles(map, grid, svg);
  }
  DrawRowLabels(grid.rows, map.row_labels, grid.plot, svg);
  return svg.Finish();
}

}  // namespace orrery::draw
