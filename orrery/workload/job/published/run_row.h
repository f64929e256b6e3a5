#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/base/text/text.h"
#include "orrery/workload/input.h"

namespace orrery::workload {

/// Returns true if `word` occurs in `text`, whatever the case.
[[nodiscard]] bool Mentions(std::string_view text, std::string_view word);

/// The cells of one row of a table of measured runs, and what its reader had to assume.
class RunRow {
 public:
  RunRow(const Table& table, std::size_t row, std::vector<std::string>& assumptions)
      : table_(table), row_(row), assumptions_(assumptions) {}

  /// As it stands there; empty when it is missing.
  [[nodiscard]] std::string Text(std::string_view column) const;

  [[nodiscard]] std::optional<double> Number(std::string_view column) const {
    return table_.NumberInText(row_, column);
  }

  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view column) const;

  /// A number of ranks: 1 when it is missing.
  [[nodiscard]] int Degree(std::string_view column) const;

  void Assume(std::string text) { assumptions_.push_back(std::move(text)); }

 private:
  const Table& table_;
  std::size_t row_;
  std::vector<std::string>& assumptions_;
};

/// A cell of a column with a fixed vocabulary.
template <typename Value>
using Spelling = std::pair<std::string_view, Value>;

/// The value of a cell. Nothing where it is empty; an error where it is not in the vocabulary.
template <typename Value, std::size_t kCount>
[[nodiscard]] Result<std::optional<Value>> ReadWord(
    const RunRow& row, std::string_view column,
    const std::array<Spelling<Value>, kCount>& vocabulary) {
  const std::string text = row.Text(column);
  if (text.empty()) {
    return std::nullopt;
  }
  for (const auto& [word, value] : vocabulary) {
    if (SameIgnoringCase(text, word)) {
      return value;
    }
  }
  return Unsupported("{} '{}' is not known", column, text);
}

inline constexpr std::array<Spelling<bool>, 2> kYesOrNo{{{"yes", true}, {"no", false}}};

}  // namespace orrery::workload
