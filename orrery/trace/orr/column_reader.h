#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/columns.h"
#include "orrery/trace/orr/block_codec.h"
#include "orrery/trace/orr/huge_pages.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/value_rules.h"

namespace orrery::trace::orr {

/// What is known of a column before its blocks are read.
struct ColumnPlan {
  std::string place;  // "rank 0, table host_ops, column name", for messages
  const BlockList* blocks = nullptr;
  std::uint64_t num_rows = 0;
  std::uint32_t rows_per_block = 0;
  std::uint64_t num_targets = 0;  // strings of the rank, or rows of the table that links name
};

/// Tells how many different values a column of T may hold, counted as in `OrdinalOf`.
template <typename T>
std::uint64_t NumOrdinals(const ColumnPlan& plan) {
  if constexpr (std::is_same_v<T, StringId>) {
    return plan.num_targets;
  } else if constexpr (std::is_same_v<T, RowId>) {
    return plan.num_targets + 1;
  } else {
    return NumEnumerators<T>();
  }
}

/// Counts the values that refer to something from 0; "no row" comes before row 0.
template <typename T>
std::uint32_t OrdinalOf(T value) {
  if constexpr (std::is_same_v<T, RowId>) {
    return value + 1;
  } else {
    return static_cast<std::uint32_t>(value);
  }
}

template <typename T>
Status CheckValues(std::span<const T> values, const ColumnPlan& plan) {
  if constexpr (std::is_enum_v<T> || std::is_same_v<T, RowId>) {
    std::uint32_t largest = 0;
    for (const T value : values) {
      largest = std::max(largest, OrdinalOf(value));
    }
    if (largest >= NumOrdinals<T>(plan)) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("holds {}, and this program knows only values below {}: the file is "
                              "damaged, or written by a newer Orrery",
                              largest, NumOrdinals<T>(plan)));
    }
  }
  return {};
}

/// Appends the values of one block to `column`.
template <typename T>
Status AppendBlock(const BlockEntry& block, std::size_t count, const ColumnPlan& plan,
                   BlockDecoder& decoder, std::vector<T>& column) {
  ORRERY_TRY(const std::byte* const bytes, decoder.Decode(block, sizeof(T), count));
  const std::span<const T> values(reinterpret_cast<const T*>(bytes), count);
  ORRERY_TRY_STATUS(CheckValues(values, plan));
  column.insert(column.end(), values.begin(), values.end());
  return {};
}

/// Fills `column` from its blocks. Each block is unpacked into working memory that stays in the
/// cache and copied from there, so the column's own memory is touched once.
template <typename T>
Status ReadColumn(const ColumnPlan& plan, BlockDecoder& decoder, std::vector<T>& column) {
  column.reserve(plan.num_rows);
  AdviseHugePages(column.data(), plan.num_rows * sizeof(T));
  for (std::size_t index = 0; index < plan.blocks->size(); ++index) {
    const std::size_t count =
        std::min<std::size_t>(plan.rows_per_block, plan.num_rows - column.size());
    auto status = AppendBlock((*plan.blocks)[index], count, plan, decoder, column);
    if (!status) {
      return FailWithin(fmt::format("{}, block {}", plan.place, index), status);
    }
  }
  return {};
}

}  // namespace orrery::trace::orr
