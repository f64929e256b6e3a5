#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/draw/chart/timeline_chart.h"

namespace orrery::draw {

/// Adds up, for each of the pixel columns of one row of a timeline, how long each series lasts in
/// it. Costs a step for each slice and each pixel that it covers.
class PixelRow {
 public:
  PixelRow(const TimelineChart& chart, std::size_t num_columns);

  void Add(const std::vector<TimelineSlice>& slices);

  /// Returns what each column shows; chart.series.size() is the background.
  [[nodiscard]] std::vector<std::size_t> Winners() const;

 private:
  [[nodiscard]] std::int64_t TimeOf(std::size_t column) const;
  [[nodiscard]] std::size_t ColumnOf(std::int64_t time_ns) const;
  [[nodiscard]] std::size_t WinnerOf(std::size_t column) const;
  void AddSlice(const TimelineSlice& slice);

  const TimelineChart* chart_;
  std::size_t num_columns_;
  std::size_t num_series_;
  std::int64_t num_items_ = 0;
  std::vector<std::int64_t> covered_ns_;  // [column][series]
};

}  // namespace orrery::draw
