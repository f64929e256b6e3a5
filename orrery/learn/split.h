#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/learn/data_set.h"

namespace orrery::learn {

/// The rows that training may see: no test rows, so what takes this type cannot look at them.
struct TrainingRows {
  std::span<const RowIndex> train;
  std::span<const RowIndex> validation;
};

/// Each row is in at most one part; the rows of a part are in order.
struct Split {
  std::vector<RowIndex> train;
  std::vector<RowIndex> validation;
  std::vector<RowIndex> test;

  [[nodiscard]] TrainingRows training() const { return {train, validation}; }
};

/// Duplicates (repeats of one measurement, the same shape transposed) must not be on both sides, so
/// rows are drawn by the text of a group: a row's part follows from a hash of that text and the
/// seed alone, the same on every machine and whatever other rows there are. The shares are met on
/// average.
struct Draw {
  std::size_t duplicate_group = 0;  // index into DataSet::group_names
  double validation_share = 0.1;
  std::uint64_t seed = 0;
};

/// Splits at random; duplicates stay together.
[[nodiscard]] Split SplitAtRandom(const DataSet& data, const Draw& draw, double test_share);

}  // namespace orrery::learn
