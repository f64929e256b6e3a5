#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/columns.h"

namespace orrery::trace {

/// Finds the first row that carries a number (correlation, external id, python id …). Numbers below
/// zero mean "none" and are not indexed.
///
/// Profilers number densely, so the index is a plain array where the numbers allow it and a hash
/// map where they do not. Rows that share a number are chained in row order.
class RowIndex {
 public:
  template <typename T>
  explicit RowIndex(const std::vector<T>& numbers) : next_(numbers.size(), kNoRow) {
    Prepare(numbers);
    // Backwards, so that the first row of each number ends up in front of its chain.
    for (std::size_t i = numbers.size(); i > 0; --i) {
      const auto number = static_cast<std::int64_t>(numbers[i - 1]);
      if (number >= 0) {
        RowId& first = Slot(number);
        next_[i - 1] = first;
        first = static_cast<RowId>(i - 1);
      }
    }
  }

  [[nodiscard]] RowId First(std::int64_t number) const {
    if (!dense_.empty() || sparse_.empty()) {
      const std::int64_t offset = number - smallest_;
      return number < smallest_ || offset >= static_cast<std::int64_t>(dense_.size())
                 ? kNoRow
                 : dense_[static_cast<std::size_t>(offset)];
    }
    const auto found = sparse_.find(number);
    return found == sparse_.end() ? kNoRow : found->second;
  }

  /// The next row with the same number as `row`.
  [[nodiscard]] RowId Next(RowId row) const { return next_[row]; }

 private:
  template <typename T>
  void Prepare(const std::vector<T>& numbers) {
    std::int64_t largest = -1;
    std::int64_t count = 0;
    smallest_ = std::numeric_limits<std::int64_t>::max();
    for (const T value : numbers) {
      const auto number = static_cast<std::int64_t>(value);
      if (number >= 0) {
        smallest_ = std::min(smallest_, number);
        largest = std::max(largest, number);
        ++count;
      }
    }
    if (count > 0 && (largest - smallest_) / 8 <= count) {
      dense_.resize(static_cast<std::size_t>(largest - smallest_ + 1), kNoRow);
    }
  }

  RowId& Slot(std::int64_t number) {
    if (!dense_.empty()) {
      return dense_[static_cast<std::size_t>(number - smallest_)];
    }
    return sparse_.try_emplace(number, kNoRow).first.value();
  }

  std::int64_t smallest_ = 0;
  std::vector<RowId> dense_;
  tsl::robin_map<std::int64_t, RowId> sparse_;
  std::vector<RowId> next_;
};

}  // namespace orrery::trace
