#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orrery/base/columns.h"

namespace orrery::exporting {

/// The reverse of a link column: for each row that is linked to, the rows that link to it, in
/// order.
class RowLists {
 public:
  /// `target_of_row` is the link column; `num_targets` is the size of the table it points into.
  RowLists(std::size_t num_targets, const std::vector<RowId>& target_of_row);

  [[nodiscard]] std::span<const RowId> RowsOf(RowId target) const {
    return std::span(rows_).subspan(begins_[target], begins_[target + 1] - begins_[target]);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<RowId> rows_;
};

}  // namespace orrery::exporting
