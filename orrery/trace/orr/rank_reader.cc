#include "orrery/trace/orr/rank_reader.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "orrery/trace/orr/column_reader.h"
#include "orrery/trace/orr/huge_pages.h"
#include "orrery/trace/orr/value_rules.h"

namespace orrery::trace::orr {
namespace {

auto Damaged(std::string_view place, std::string_view what) {
  return Fail(Error::Kind::kInvalidInput, fmt::format("{}: {}: {}", place, what, kDamageFix));
}

// Every count comes with blocks for it, so it cannot be larger than the directory allows.
Status CheckNumBlocks(const std::string& place, const BlockList& blocks, std::uint64_t count,
                      std::uint32_t per_block) {
  const std::uint64_t wanted = count / per_block + (count % per_block == 0 ? 0 : 1);
  if (blocks.size() == wanted) {
    return {};
  }
  return Damaged(place, fmt::format("{} values cannot be in {} blocks", count, blocks.size()));
}

template <typename Entries>
auto FindByName(const Entries& entries, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

template <typename Table>
std::uint64_t RowBytes() {
  std::uint64_t bytes = 0;
  const Table none;
  ForEachColumn(none, [&]<typename T>(const char*, const std::vector<T>&) { bytes += sizeof(T); });
  return bytes;
}

// What a column holds that the file does not have.
template <typename Table, typename T>
T DefaultOf(std::string_view column_name) {
  T value{};
  Table one;
  one.Append({});
  ForEachColumn(one, [&]<typename Other>(const char* name, const std::vector<Other>& column) {
    if constexpr (std::is_same_v<T, Other>) {
      value = name == column_name ? column[0] : value;
    }
  });
  return value;
}

Status CheckLengths(const std::vector<std::uint64_t>& lengths, std::uint64_t num_characters) {
  if (lengths.empty() || lengths[0] != 0) {
    return Fail(Error::Kind::kInvalidInput, "the first string is not the empty one");
  }
  std::uint64_t left = num_characters;
  for (const std::uint64_t length : lengths) {
    if (length > left) {
      return Fail(Error::Kind::kInvalidInput, "strings are longer than all characters");
    }
    left -= length;
  }
  if (left != 0) {
    return Fail(Error::Kind::kInvalidInput, "there are more characters than strings have");
  }
  return {};
}

}  // namespace

double RankReader::MemoryBytes() const {
  constexpr double kBytesPerString = sizeof(std::uint64_t) + sizeof(std::string_view);
  double bytes = static_cast<double>(entry_.strings.num_characters) +
                 static_cast<double>(entry_.strings.num_strings) * kBytesPerString;
  ForEachTable(trace_, [&]<typename Table>(const char* name, const Table&) {
    bytes += static_cast<double>(NumRows(name)) * static_cast<double>(RowBytes<Table>());
  });
  return bytes;
}

Status RankReader::Plan(std::vector<ReadTask>& tasks) {
  trace_.info = entry_.info;
  trace_.problems = entry_.problems;
  ORRERY_TRY_STATUS(PlanStrings(tasks));
  Status status;
  ForEachTable(trace_, [&](const char* name, auto& table) {
    if (status) {
      status = PlanTable(name, table, tasks);
    }
  });
  CountUnknown();
  return status;
}

const TableEntry* RankReader::FindTable(std::string_view name) const {
  return FindByName(entry_.tables, name);
}

std::uint64_t RankReader::NumRows(std::string_view table) const {
  const TableEntry* const entry = FindTable(table);
  return entry == nullptr ? 0 : entry->num_rows;
}

Status RankReader::PlanStrings(std::vector<ReadTask>& tasks) {
  const StringsEntry& strings = entry_.strings;
  const std::string place = place_ + ", strings";
  if (strings.num_strings > std::numeric_limits<std::uint32_t>::max()) {
    return Damaged(place, "there are more than ids");
  }
  ORRERY_TRY_STATUS(
      CheckNumBlocks(place, strings.lengths, strings.num_strings, directory_.rows_per_block));
  ORRERY_TRY_STATUS(CheckNumBlocks(place, strings.characters, strings.num_characters,
                                   directory_.characters_per_block));
  characters_ = std::make_unique_for_overwrite<char[]>(strings.num_characters);
  characters_begin_ = characters_.get();
  AdviseHugePages(characters_begin_, strings.num_characters);
  tasks.push_back({strings.num_strings * sizeof(std::string_view),
                   [this](BlockDecoder& decoder) { return ReadLengths(decoder); }});
  for (std::size_t index = 0; index < strings.characters.size(); ++index) {
    tasks.push_back({directory_.characters_per_block, [this, index](BlockDecoder& decoder) {
                       return ReadCharacters(decoder, index);
                     }});
  }
  return {};
}

Status RankReader::ReadLengths(BlockDecoder& decoder) {
  const ColumnPlan plan{.place = place_ + ", lengths of strings",
                        .blocks = &entry_.strings.lengths,
                        .num_rows = entry_.strings.num_strings,
                        .rows_per_block = directory_.rows_per_block};
  std::vector<std::uint64_t> lengths;
  ORRERY_TRY_STATUS(ReadColumn(plan, decoder, lengths));
  if (auto status = CheckLengths(lengths, entry_.strings.num_characters); !status) {
    return Damaged(plan.place, status.error().message());
  }
  trace_.strings = StringTable::FromBlob(std::move(characters_), lengths);
  return {};
}

Status RankReader::ReadCharacters(BlockDecoder& decoder, std::size_t index) {
  const std::uint64_t begin = index * std::uint64_t{directory_.characters_per_block};
  const std::uint64_t size = std::min<std::uint64_t>(directory_.characters_per_block,
                                                     entry_.strings.num_characters - begin);
  auto status =
      decoder.DecodeCharacters(entry_.strings.characters[index], characters_begin_ + begin, size);
  if (!status) {
    return FailWithin(fmt::format("{}, characters of strings, block {}", place_, index), status);
  }
  return status;
}

template <typename Table>
Status RankReader::PlanTable(const char* name, Table& table, std::vector<ReadTask>& tasks) {
  const TableEntry* const entry = FindTable(name);
  if (entry == nullptr) {
    return {};
  }
  if (entry->num_rows >= kNoRow) {
    return Damaged(fmt::format("{}, table {}", place_, name), "there are more rows than row ids");
  }
  Status status;
  ForEachColumn(table, [&]<typename T>(const char* column_name, std::vector<T>& column) {
    const ColumnEntry* const column_entry = FindByName(entry->columns, column_name);
    if (column_entry == nullptr) {
      column.assign(entry->num_rows, DefaultOf<Table, T>(column_name));
      trace_.problems.Note("column that an older Orrery did not write, filled with its default", 1,
                           fmt::format("{}.{}", name, column_name));
    } else if (status) {
      status = PlanColumn(*entry, *column_entry, column, tasks);
    }
  });
  return status;
}

template <typename T>
Status RankReader::PlanColumn(const TableEntry& table, const ColumnEntry& entry,
                              std::vector<T>& column, std::vector<ReadTask>& tasks) {
  ColumnPlan plan{.place = fmt::format("{}, table {}, column {}", place_, table.name, entry.name),
                  .blocks = &entry.blocks,
                  .num_rows = table.num_rows,
                  .rows_per_block = directory_.rows_per_block};
  ORRERY_TRY_STATUS(CheckNumBlocks(plan.place, entry.blocks, plan.num_rows, plan.rows_per_block));
  if (entry.kind != KindOf<T>()) {
    return Damaged(plan.place,
                   fmt::format("it holds values of kind {} instead of {}",
                               static_cast<int>(entry.kind), static_cast<int>(KindOf<T>())));
  }
  if constexpr (std::is_same_v<T, StringId>) {
    plan.num_targets = entry_.strings.num_strings;
  } else if constexpr (std::is_same_v<T, RowId>) {
    plan.num_targets = NumRows(LinkTarget(table.name, entry.name));
  }
  const std::uint64_t num_bytes = plan.num_rows * sizeof(T);
  tasks.push_back({num_bytes, [plan = std::move(plan), &column](BlockDecoder& decoder) {
                     return ReadColumn(plan, decoder, column);
                   }});
  return {};
}

void RankReader::CountUnknown() {
  std::set<std::string> known;
  ForEachTable(trace_, [&](const char* name, const auto& table) {
    known.insert(name);
    ForEachColumn(table, [&](const char* column_name, const auto&) {
      known.insert(fmt::format("{}.{}", name, column_name));
    });
  });
  for (const TableEntry& table : entry_.tables) {
    if (!known.contains(table.name)) {
      trace_.problems.Loss("table that a newer Orrery wrote, skipped", 1, table.name);
      continue;
    }
    for (const ColumnEntry& column : table.columns) {
      const std::string name = fmt::format("{}.{}", table.name, column.name);
      if (!known.contains(name)) {
        trace_.problems.Loss("column that a newer Orrery wrote, skipped", 1, name);
      }
    }
  }
}

}  // namespace orrery::trace::orr
