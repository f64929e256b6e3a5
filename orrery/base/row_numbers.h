#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orrery/base/columns.h"

namespace orrery {

/// Replaces row numbers of a column by `row_of[number]`, from row `first` on; kNoRow stays.
inline void Renumber(std::vector<RowId>& column, std::span<const RowId> row_of,
                     std::size_t first = 0) {
  for (std::size_t row = first; row < column.size(); ++row) {
    column[row] = column[row] == kNoRow ? kNoRow : row_of[column[row]];
  }
}

/// Keeps only the rows in `kept`, in that order; returns where each row is now, or kNoRow.
template <typename Table>
std::vector<RowId> KeepRows(Table& table, std::span<const RowId> kept) {
  std::vector<RowId> new_row(table.size(), kNoRow);
  for (RowId row = 0; row < kept.size(); ++row) {
    new_row[kept[row]] = row;
  }
  PermuteRows(table, kept);
  return new_row;
}

}  // namespace orrery
