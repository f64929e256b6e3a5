#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/string_table.h"

namespace orrery::trace {

/// The number of a row in one table of a Trace.
using RowId = std::uint32_t;

inline constexpr RowId kNoRow = std::numeric_limits<RowId>::max();

/// A column of a table: its name on disk and in messages, and where it lives.
template <typename Table, typename T>
struct ColumnOf {
  const char* name;
  std::vector<T> Table::* member;
};

template <typename Table, typename T>
ColumnOf(const char*, std::vector<T> Table::*) -> ColumnOf<Table, T>;

/// Calls `visit(name, column)` for each column of `table`, in declared order.
template <typename Table, typename Visit>
void ForEachColumn(Table& table, Visit&& visit) {
  std::apply([&](const auto&... column) { (visit(column.name, table.*column.member), ...); },
             Table::Columns());
}

/// Appends all rows of `from`; string ids go through `strings` (see StringTable::Merge).
template <typename Table>
void AppendRows(Table& into, const Table& from, std::span<const StringId> strings) {
  const auto append = [&]<typename T>(std::vector<T>& target, const std::vector<T>& source) {
    if constexpr (std::is_same_v<T, StringId>) {
      const std::size_t before = target.size();
      target.insert(target.end(), source.begin(), source.end());
      for (std::size_t row = before; row < target.size(); ++row) {
        target[row] = strings[static_cast<std::size_t>(target[row])];
      }
    } else {
      target.insert(target.end(), source.begin(), source.end());
    }
  };
  std::apply(
      [&](const auto&... column) { (append(into.*column.member, from.*column.member), ...); },
      Table::Columns());
}

/// Reorders the rows so that new row i is old row `order[i]`.
template <typename Table>
void PermuteRows(Table& table, std::span<const RowId> order) {
  ForEachColumn(table, [&]<typename T>(const char*, std::vector<T>& column) {
    std::vector<T> sorted;
    sorted.reserve(order.size());
    for (const RowId row : order) {
      sorted.push_back(column[row]);
    }
    column = std::move(sorted);
  });
}

}  // namespace orrery::trace

/// Defines a table from its list of columns: `COLUMNS(X)` calls `X(type, name, default)` for each.
/// One list gives the columns, a Row with the defaults, and what storage, sorting and comparison
/// need, so that adding a column is one line.
#define ORRERY_TRACE_TABLE(Table, COLUMNS)                                      \
  struct Table {                                                                \
    struct Row {                                                                \
      COLUMNS(ORRERY_TABLE_ROW_FIELD)                                           \
    };                                                                          \
    COLUMNS(ORRERY_TABLE_COLUMN)                                                \
    static constexpr auto Columns() {                                           \
      using Self = Table;                                                       \
      return std::tuple_cat(COLUMNS(ORRERY_TABLE_COLUMN_ENTRY) std::tuple<>()); \
    }                                                                           \
    RowId Append([[maybe_unused]] const Row& row) {                             \
      const auto new_row = static_cast<RowId>(size());                          \
      COLUMNS(ORRERY_TABLE_PUSH)                                                \
      return new_row;                                                           \
    }                                                                           \
    [[nodiscard]] Row At(RowId row_id) const {                                  \
      return {COLUMNS(ORRERY_TABLE_GET)};                                       \
    }                                                                           \
    [[nodiscard]] std::size_t size() const {                                    \
      return (this->*std::get<0>(Columns()).member).size();                     \
    }                                                                           \
    [[nodiscard]] bool empty() const {                                          \
      return size() == 0;                                                       \
    }                                                                           \
    bool operator==(const Table&) const = default;                              \
  }
#define ORRERY_TABLE_ROW_FIELD(type, name, initial) type name = initial;
#define ORRERY_TABLE_COLUMN(type, name, initial) std::vector<type> name;
#define ORRERY_TABLE_COLUMN_ENTRY(type, name, initial) \
  std::tuple(::orrery::trace::ColumnOf{#name, &Self::name}),
#define ORRERY_TABLE_PUSH(type, name, initial) this->name.push_back(row.name);
#define ORRERY_TABLE_GET(type, name, initial) this->name[row_id],
