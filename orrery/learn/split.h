#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/learn/data_set.h"

namespace orrery::learn {

/// The rows that training and the choice of hyper-parameters may see. There are no test rows in
/// it, so what takes this type cannot look at them.
struct TrainingRows {
  std::span<const RowIndex> train;
  std::span<const RowIndex> validation;
};

/// Who learns from what. Each row is in at most one part; the rows of a part are in order.
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

/// Splits at random, duplicates together.
[[nodiscard]] Split SplitAtRandom(const DataSet& data, const Draw& draw, double test_share);

/// Holds out the rows for which `is_test` holds, and draws validation from the rest.
[[nodiscard]] Split SplitWhere(const DataSet& data, const Draw& draw,
                               const std::function<bool(RowIndex)>& is_test);

/// Holds out every row of one group: an unseen GPU, an unseen network.
[[nodiscard]] Split LeaveOut(const DataSet& data, const Draw& draw, std::size_t group,
                             std::string_view left_out);

/// Holds out whole values of one feature, each with the probability `test_share`: interpolation.
[[nodiscard]] Split SplitByValue(const DataSet& data, const Draw& draw, std::size_t feature,
                                 double test_share);

/// Holds out the rows whose feature is above `threshold`: extrapolation.
[[nodiscard]] Split SplitAbove(const DataSet& data, const Draw& draw, std::size_t feature,
                               double threshold);

/// Makes `folds` splits in which each row is a test row once.
[[nodiscard]] std::vector<Split> CrossValidation(const DataSet& data, const Draw& draw,
                                                 std::size_t folds);

}  // namespace orrery::learn
