#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "orrery/base/string_table.h"

namespace orrery {

/// The number of a row in a table of columns.
using RowId = std::uint32_t;

inline constexpr RowId kNoRow = std::numeric_limits<RowId>::max();

/// Calls `visit(name, column)` for each column of `table`, in declared order.
template <typename Table, typename Visit>
void ForEachColumn(Table& table, Visit&& visit) {
  std::remove_const_t<Table>::VisitColumns(visit, table);
}

/// Appends all rows of `from`; string ids go through `strings` (see StringTable::Merge).
template <typename Table>
void AppendRows(Table& into, const Table& from, std::span<const StringId> strings) {
  const auto append = [&]<typename T>(const char*, std::vector<T>& target,
                                      const std::vector<T>& source) {
    const std::size_t before = target.size();
    target.insert(target.end(), source.begin(), source.end());
    if constexpr (std::is_same_v<T, StringId>) {
      for (std::size_t row = before; row < target.size(); ++row) {
        target[row] = strings[static_cast<std::size_t>(target[row])];
      }
    }
  };
  Table::VisitColumns(append, into, from);
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

}  // namespace orrery

/// Defines a table from its list of columns: `COLUMNS(X)` calls `X(type, name, default)` for each.
/// One list gives the columns, a Row with the defaults, and what storage, sorting and comparison
/// need, so that adding a column is one line. `VisitColumns(visit, tables...)` calls
/// `visit(name, column of each table...)`. Append is a template only so that a source that appends
/// nothing does not pay for compiling it.
#define ORRERY_TABLE(Table, COLUMNS)                                      \
  struct Table {                                                          \
    struct Row {                                                          \
      COLUMNS(ORRERY_TABLE_ROW_FIELD)                                     \
    };                                                                    \
    COLUMNS(ORRERY_TABLE_COLUMN)                                          \
    template <typename Visit, typename... Tables>                         \
    static void VisitColumns(Visit&& visit, Tables&... tables) {          \
      COLUMNS(ORRERY_TABLE_VISIT)                                         \
    }                                                                     \
    template <typename AnyRow = Row>                                      \
    RowId Append([[maybe_unused]] const AnyRow& row) {                    \
      const auto new_row = static_cast<RowId>(size());                    \
      COLUMNS(ORRERY_TABLE_PUSH)                                          \
      return new_row;                                                     \
    }                                                                     \
    [[nodiscard]] Row At(RowId row_id) const {                            \
      return {COLUMNS(ORRERY_TABLE_GET)};                                 \
    }                                                                     \
    /* All columns are equally long; the first `return` is the answer. */ \
    [[nodiscard]] std::size_t size() const {                              \
      COLUMNS(ORRERY_TABLE_SIZE)                                          \
    }                                                                     \
    [[nodiscard]] bool empty() const {                                    \
      return size() == 0;                                                 \
    }                                                                     \
    bool operator==(const Table&) const = default;                        \
  }
#define ORRERY_TABLE_ROW_FIELD(type, name, initial) type name = initial;
#define ORRERY_TABLE_COLUMN(type, name, initial) std::vector<type> name;
#define ORRERY_TABLE_VISIT(type, name, initial) visit(#name, tables.name...);
#define ORRERY_TABLE_PUSH(type, name, initial) this->name.push_back(row.name);
#define ORRERY_TABLE_GET(type, name, initial) this->name[row_id],
#define ORRERY_TABLE_SIZE(type, name, initial) return this->name.size();
