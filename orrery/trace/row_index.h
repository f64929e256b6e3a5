#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <tsl/robin_map.h>

#include "orrery/trace/trace.h"

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

/// Calls a function of names once for each distinct name of a trace: names repeat thousands of
/// times.
template <typename Function>
class PerName {
 public:
  using Result = std::decay_t<std::invoke_result_t<Function, std::string_view>>;

  PerName(const Trace& trace, Function function)
      : trace_(&trace), function_(std::move(function)), known_(trace.strings.size()) {}

  const Result& operator()(StringId name) {
    std::optional<Result>& known = known_[static_cast<std::size_t>(name)];
    if (!known) {
      known = function_(trace_->Text(name));
    }
    return *known;
  }

 private:
  const Trace* trace_;
  Function function_;
  std::vector<std::optional<Result>> known_;
};

/// The reverse of a link column: for each row of the target table the rows that link to it, in
/// order.
class RowsByTarget {
 public:
  RowsByTarget(std::span<const RowId> target_of_row, std::size_t num_targets)
      : first_(num_targets + 1, 0) {
    for (const RowId target : target_of_row) {
      if (target != kNoRow) {
        ++first_[target + 1];
      }
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    rows_.resize(first_.back());
    std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
    for (RowId row = 0; row < target_of_row.size(); ++row) {
      if (target_of_row[row] != kNoRow) {
        rows_[next[target_of_row[row]]++] = row;
      }
    }
  }

  [[nodiscard]] std::span<const RowId> Of(RowId target) const {
    return std::span(rows_).subspan(first_[target], first_[target + 1] - first_[target]);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<RowId> rows_;
};

}  // namespace orrery::trace
