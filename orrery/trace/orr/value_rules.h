#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "orrery/base/check.h"
#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/orr/layout.h"

namespace orrery::trace::orr {

/// The type on disk of a column's values.
template <typename T>
constexpr ValueKind KindOf() {
  if constexpr (std::is_same_v<T, StringId>) {
    return ValueKind::kString;
  } else if constexpr (std::is_enum_v<T>) {
    static_assert(sizeof(T) == 1);
    return ValueKind::kEnum;
  } else if constexpr (std::is_same_v<T, RowId>) {
    return ValueKind::kRow;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return ValueKind::kInt64;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return ValueKind::kUInt64;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return ValueKind::kInt32;
  } else if constexpr (std::is_same_v<T, double>) {
    return ValueKind::kFloat64;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>, "a new type of column wants a ValueKind");
    return ValueKind::kUInt8;
  }
}

/// Returns whether `value` is an enumerator. The compiler writes "Kind::kName" for those
/// that have a name, and "(Kind)13" for others.
template <auto value>
consteval bool HasName() {
  const std::string_view signature = __PRETTY_FUNCTION__;
  return signature[signature.find("value = ") + 8] != '(';
}

/// Counts the enumerators of an enumeration that begins at 0 and has no gaps.
template <typename Enum, std::size_t from = 0>
consteval std::size_t NumEnumerators() {
  if constexpr (HasName<static_cast<Enum>(from)>()) {
    return NumEnumerators<Enum, from + 1>();
  } else {
    return from;
  }
}

/// A link column and the table whose rows it names.
struct Link {
  std::string_view column;
  std::string_view target;  // empty: the column's own table
};

// A name means the same in every table.
inline constexpr std::array kLinks{
    Link{"track", "tracks"},
    Link{"begin_track", "tracks"},
    Link{"end_track", "tracks"},
    Link{"shape", "launch_shapes"},
    Link{"launch", "runtime_calls"},
    Link{"call", "runtime_calls"},
    Link{"host_op", "host_ops"},
    Link{"forward_op", "host_ops"},
    Link{"annotation", "annotations"},
    Link{"host", "annotations"},
    Link{"collective", "collectives"},
    Link{"group", "process_groups"},
    Link{"graph_node", "graph_nodes"},
    Link{"parent", ""},
    Link{"activity", "activities"},
    Link{"object", "memory_objects"},
    Link{"first_lane", "access_lanes"},
};

/// Returns the name of the table whose rows a link column names. Fails a check for a column that
/// is not listed above.
[[nodiscard]] inline std::string_view LinkTarget(std::string_view table, std::string_view column) {
  const auto link = std::find_if(kLinks.begin(), kLinks.end(),
                                 [&](const Link& known) { return known.column == column; });
  ORRERY_CHECK(link != kLinks.end(), "every link column is listed with its table");
  return link->target.empty() ? table : link->target;
}

}  // namespace orrery::trace::orr
