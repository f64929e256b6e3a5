#include "orrery/export/row_lists.h"

#include <numeric>

namespace orrery::exporting {


RowLists::RowLists(std::size_t num_targets, const std::vector<RowId>& target_of_row)
    : begins_(num_targets + 1, 0) {
  for (const RowId target : target_of_row) {
    if (target < num_targets) {
      ++begins_[target + 1];
    }
  }
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  rows_.resize(begins_.back());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (RowId row = 0; row < target_of_row.size(); ++row) {
    if (target_of_row[row] < num_targets) {
      rows_[next[target_of_row[row]]++] = row;
    }
  }
}

}  // namespace orrery::exporting
