#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"

namespace orrery::python {

/// The meaning of a column's numbers: plain values, or codes of strings or names.
enum class Codes : std::uint8_t { kNone, kStrings, kNames };

/// One column of a table: numbers that lie one after the other in memory that somebody else keeps.
struct Column {
  std::string name;
  const void* data = nullptr;
  std::size_t item_bytes = 0;
  bool is_signed = false;
  bool is_float = false;
  bool is_link = false;  // rows of another table, kNoRow where there is none
  Codes codes = Codes::kNone;
  std::vector<std::string> names = {};  // of enumerations, by number
};

/// A table of a run. Its columns are valid as long as `owner`.
struct TableView {
  std::string name;
  std::size_t num_rows = 0;
  std::vector<Column> columns;
  std::shared_ptr<const void> owner;
  const StringTable* strings = nullptr;  // of columns with Codes::kStrings

  [[nodiscard]] const Column* Find(std::string_view column) const;
};

/// The names of an enumeration, by number; empty for those that have none.
template <typename Enum>
[[nodiscard]] std::vector<std::string> NamesOfEnum() {
  std::vector<std::string> names;
  if constexpr (std::is_same_v<Enum, CollectiveKind>) {
    for (std::size_t i = 0; i < kNumCollectiveKinds; ++i) {
      names.emplace_back(CollectiveKindName(static_cast<CollectiveKind>(i)));
    }
  } else if constexpr (std::is_same_v<Enum, DataType>) {
    for (auto i = 0; i <= static_cast<int>(DataType::kMxfp4Fp8); ++i) {
      names.emplace_back(DataTypeName(static_cast<DataType>(i)));
    }
  } else if constexpr (std::is_same_v<Enum, trace::ActivityKind>) {
    names = {"kernel", "memcpy", "memset", "other"};
  } else if constexpr (std::is_same_v<Enum, trace::CopyKind>) {
    names = {
        "none",           "host_to_device",  "device_to_host",  "host_to_array",    "array_to_host",
        "array_to_array", "array_to_device", "device_to_array", "device_to_device", "host_to_host",
        "peer_to_peer",   "unknown"};
  } else if constexpr (std::is_same_v<Enum, trace::TrackKind>) {
    names = {"host", "device", "other"};
  } else if constexpr (std::is_same_v<Enum, trace::DeviceKind>) {
    names = {"cpu", "gpu", "other"};
  }
  return names;
}

template <typename T>
[[nodiscard]] Column ColumnOf(const char* name, const std::vector<T>& values) {
  Column column{.name = name, .data = values.data(), .item_bytes = sizeof(T)};
  if constexpr (std::is_same_v<T, StringId>) {
    column.codes = Codes::kStrings;
  } else if constexpr (std::is_enum_v<T>) {
    column.names = NamesOfEnum<T>();
    column.codes = column.names.empty() ? Codes::kNone : Codes::kNames;
  } else {
    column.is_float = std::is_floating_point_v<T>;
    column.is_signed = std::is_signed_v<T>;
    column.is_link = std::is_same_v<T, RowId>;
  }
  return column;
}

/// Looks at a table of columns that `owner` keeps.
template <typename Table>
[[nodiscard]] TableView ViewOf(std::string name, const Table& table,
                               std::shared_ptr<const void> owner, const StringTable* strings) {
  TableView view{.name = std::move(name),
                 .num_rows = table.size(),
                 .columns = {},
                 .owner = std::move(owner),
                 .strings = strings};
  ForEachColumn(table, [&](const char* column, const auto& values) {
    view.columns.push_back(ColumnOf(column, values));
  });
  return view;
}

}  // namespace orrery::python
