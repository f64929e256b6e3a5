#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/draw/chart/svg_writer.h"

namespace orrery::draw {

/// Where the rows of a chart are when there may be eight of them or thousands: tall rows with a gap
/// while there is room, then thin ones, then rows that stand for several neighbours each.
struct RowLayout {
  std::size_t num_items = 0;
  std::size_t items_per_row = 1;
  double pitch = 26;  // from one row to the next
  double gap = 4;     // of the pitch, below a row

  [[nodiscard]] static RowLayout For(std::size_t num_items);

  [[nodiscard]] std::size_t num_rows() const {
    return (num_items + items_per_row - 1) / items_per_row;
  }

  [[nodiscard]] double height() const { return pitch * static_cast<double>(num_rows()); }

  [[nodiscard]] double TopOf(std::size_t row) const { return pitch * static_cast<double>(row); }

  /// Every how many rows there is room for a label.
  [[nodiscard]] std::size_t LabelEvery() const;
};

/// Returns the room left of a plot: that of all charts, or more where labels would be cut off.
[[nodiscard]] double LabelWidthFor(const std::vector<std::string>& labels);

/// Returns a label that fits into the most room that LabelWidthFor gives: a longer one ends in "…".
[[nodiscard]] std::string FittedLabel(const std::string& label);

/// Draws the labels of the rows that have room for one, left of `plot`.
void DrawRowLabels(const RowLayout& layout, const std::vector<std::string>& labels, const Box& plot,
                   SvgWriter& svg);

/// Tells the page how to read the place of the pointer: which row is under it.
void AddHoverAlongRows(const RowLayout& layout, const std::vector<std::string>& labels,
                       const Box& plot, SvgWriter& svg);

/// Returns the label of a row: "rank 4", or "rank 4 to rank 7".
[[nodiscard]] std::string LabelOfRow(const RowLayout& layout,
                                     const std::vector<std::string>& labels, std::size_t row);

}  // namespace orrery::draw
