#include "orrery/draw/chart/row_layout.h"

#include <algorithm>

#include <fmt/core.h>

#include "orrery/draw/chart/chart_size.h"
#include "orrery/draw/text_table.h"

namespace orrery::draw {
namespace {

constexpr double kWantedHeight = 560;
constexpr double kTallest = 26;
constexpr double kThinnest = 2;
constexpr std::size_t kMaxRows = 280;
constexpr double kLabelHeight = 16.5;
constexpr double kLetterWidth = 7;
constexpr double kLabelGap = 14;
constexpr double kWidestLabels = 280;
constexpr double kHighestBaseline = 10;  // of a text that is not cut by the border

// Letters, not bytes: those that continue a letter of UTF-8 do not count.
double NumLetters(const std::string& text) {
  return static_cast<double>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xc0) != 0x80; }));
}

double GapOf(double pitch) {
  return pitch >= 12 ? 4 : pitch >= 5 ? 1 : 0;
}

}  // namespace

RowLayout RowLayout::For(std::size_t num_items) {
  RowLayout layout{.num_items = num_items};
  layout.items_per_row = std::max<std::size_t>(1, (num_items + kMaxRows - 1) / kMaxRows);
  const auto rows = static_cast<double>(std::max<std::size_t>(1, layout.num_rows()));
  // Whole pixels, so that all rows look alike.
  layout.pitch =
      std::clamp(static_cast<double>(static_cast<int>(kWantedHeight / rows)), kThinnest, kTallest);
  layout.gap = GapOf(layout.pitch);
  return layout;
}

std::size_t RowLayout::LabelEvery() const {
  std::size_t every = 1;
  while (pitch * static_cast<double>(every) < kLabelHeight) {
    every *= 2;
  }
  return every;
}

std::string FittedLabel(const std::string& label) {
  constexpr auto kMostLetters =
      static_cast<std::size_t>((kWidestLabels - kLabelGap) / kLetterWidth);
  return Truncated(label, kMostLetters);
}

double LabelWidthFor(const std::vector<std::string>& labels) {
  double longest = 0;
  for (const std::string& label : labels) {
    longest = std::max(longest, NumLetters(label));
  }
  return std::clamp(longest * kLetterWidth + kLabelGap, kLabelWidth, kWidestLabels);
}

void DrawRowLabels(const RowLayout& layout, const std::vector<std::string>& labels, const Box& plot,
                   SvgWriter& svg) {
  for (std::size_t row = 0; row < layout.num_rows(); row += layout.LabelEvery()) {
    const double middle = plot.y + layout.TopOf(row) + (layout.pitch - layout.gap) / 2;
    svg.Text({plot.x - 10, std::max(middle + 4, kHighestBaseline)},
             FittedLabel(labels[row * layout.items_per_row]),
             {.style = "label", .anchor = Anchor::kEnd});
  }
}

void AddHoverAlongRows(const RowLayout& layout, const std::vector<std::string>& labels,
                       const Box& plot, SvgWriter& svg) {
  std::string names;
  for (std::size_t row = 0; row < layout.num_rows(); ++row) {
    names += (row == 0 ? "" : "|") + LabelOfRow(layout, labels, row);
  }
  svg.Attribute("data-rows", fmt::format("{:.1f} {:.1f}", plot.y, layout.pitch));
  svg.Attribute("data-row-names", names);
}

std::string LabelOfRow(const RowLayout& layout, const std::vector<std::string>& labels,
                       std::size_t row) {
  const std::size_t first = row * layout.items_per_row;
  const std::size_t last = std::min(first + layout.items_per_row, labels.size()) - 1;
  return first == last ? labels[first] : fmt::format("{} to {}", labels[first], labels[last]);
}

}  // namespace orrery::draw
