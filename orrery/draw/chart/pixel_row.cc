#include "orrery/draw/chart/pixel_row.h"

#include <algorithm>

namespace orrery::draw {

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

}  // namespace orrery::draw
