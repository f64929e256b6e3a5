#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sys/mman.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/orr/block_codec.h"
#include "orrery/trace/orr/layout.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/orr/value_rules.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace orr {
namespace {

// Asks the operating system to back memory that is about to be filled with large pages where it
// can: touching it for the first time is then several times cheaper. Changes nothing else.
void AdviseHugePages(const void* data, std::size_t bytes) {
  constexpr std::uintptr_t kPage = 2 << 20;
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage;
  const std::uintptr_t last = (begin + bytes) / kPage * kPage;
  if (first < last) {
    // A hint: a system without large pages refuses, and nothing is lost.
    char* const page = static_cast<char*>(const_cast<void*>(data)) + (first - begin);
    (void)madvise(page, last - first, MADV_HUGEPAGE);
  }
}

/// The description of a column before its blocks are read.
struct ColumnPlan {
  std::string place;  // "rank 0, table host_ops, column name", for messages
  const BlockList* blocks = nullptr;
  std::uint64_t num_rows = 0;
  std::uint32_t rows_per_block = 0;
  std::uint64_t num_targets = 0;  // strings of the rank, or rows of the table that links name
};

/// Returns how many different values a column of T may have, counted as in `OrdinalOf`.
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

// The default value of a column that the file does not have.
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

/// A part of the reading that can run concurrently with all others.
struct ReadTask {
  std::uint64_t num_bytes = 0;  // of memory that it fills
  std::function<Status(BlockDecoder&)> run;
};

/// Makes one rank from its entry in the directory. Entry and trace must outlive the tasks.
class RankReader {
 public:
  RankReader(std::string place, const Directory& directory, const RankEntry& entry, Trace& trace)
      : place_(std::move(place)), directory_(directory), entry_(entry), trace_(trace) {}

  /// Returns the memory that the rank needs, by what its entry claims.
  double MemoryBytes() const {
    constexpr double kBytesPerString = sizeof(std::uint64_t) + sizeof(std::string_view);
    double bytes = static_cast<double>(entry_.strings.num_characters) +
                   static_cast<double>(entry_.strings.num_strings) * kBytesPerString;
    ForEachTable(trace_, [&]<typename Table>(const char* name, const Table&) {
      bytes += static_cast<double>(NumRows(name)) * static_cast<double>(RowBytes<Table>());
    });
    return bytes;
  }

  /// Checks the entry against itself and appends the tasks that fill the trace. Allocates the
  /// memory of strings only; columns are allocated by their tasks.
  Status Plan(std::vector<ReadTask>& tasks) {
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

 private:
  std::uint64_t NumRows(std::string_view table) const {
    const TableEntry* const entry = FindByName(entry_.tables, table);
    return entry == nullptr ? 0 : entry->num_rows;
  }

  Status PlanStrings(std::vector<ReadTask>& tasks) {
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

  Status ReadLengths(BlockDecoder& decoder) {
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

  Status ReadCharacters(BlockDecoder& decoder, std::size_t index) {
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
  Status PlanTable(const char* name, Table& table, std::vector<ReadTask>& tasks) {
    const TableEntry* const entry = FindByName(entry_.tables, name);
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
        trace_.problems.Note("column that an older Orrery did not write, filled with its default",
                             1, fmt::format("{}.{}", name, column_name));
      } else if (status) {
        status = PlanColumn(*entry, *column_entry, column, tasks);
      }
    });
    return status;
  }

  template <typename T>
  Status PlanColumn(const TableEntry& table, const ColumnEntry& entry, std::vector<T>& column,
                    std::vector<ReadTask>& tasks) {
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

  void CountUnknown() {
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

  std::string place_;
  const Directory& directory_;
  const RankEntry& entry_;
  Trace& trace_;

  // Filled by tasks while the string table, which owns it from the lengths' task on, has only
  // views.
  std::unique_ptr<char[]> characters_;
  char* characters_begin_ = nullptr;
};

Status CheckBlockSizes(const Directory& directory) {
  if (directory.rows_per_block > 0 && directory.rows_per_block <= kMaxRowsPerBlock &&
      directory.characters_per_block > 0) {
    return {};
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("directory: blocks of {} rows and {} characters: {}",
                          directory.rows_per_block, directory.characters_per_block, kDamageFix));
}

Status CheckMemory(const std::deque<RankReader>& ranks, std::size_t file_bytes,
                   const UnpackLimits& limits) {
  const double needed =
      std::accumulate(ranks.begin(), ranks.end(), 0.0,
                      [](double sum, const RankReader& rank) { return sum + rank.MemoryBytes(); });
  const double allowed = std::max(static_cast<double>(limits.free_bytes),
                                  limits.max_ratio * static_cast<double>(file_bytes));
  if (needed <= allowed) {
    return {};
  }
  return Fail(Error::Kind::kLimit,
              fmt::format("its {} bytes claim to hold {:.0f} bytes of columns, and at most {:.0f} "
                          "are believed: {}",
                          file_bytes, needed, allowed, kDamageFix));
}

// Heavy tasks go first, so that no thread is left alone with one at the end. The error is that of
// the first task that failed in the order of the file, for any number of threads.
Status Run(const std::vector<ReadTask>& tasks, std::string_view file, int threads) {
  std::vector<std::size_t> order(tasks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t lhs, std::size_t rhs) {
    return std::pair(tasks[rhs].num_bytes, lhs) < std::pair(tasks[lhs].num_bytes, rhs);
  });
  std::vector<Status> results(tasks.size());
  ForEachIndex(
      tasks.size(), threads, [&] { return BlockDecoder(file); },
      [&](BlockDecoder& decoder, std::size_t index) {
        results[order[index]] = tasks[order[index]].run(decoder);
      });
  const auto failed = std::find_if(results.begin(), results.end(),
                                   [](const Status& status) { return !status.has_value(); });
  return failed == results.end() ? Status() : *failed;
}

Result<TraceSet> ReadSet(std::string_view file, const OrrReadOptions& options) {
  ORRERY_TRY(const std::string_view directory_bytes, OpenEnvelope(file));
  ORRERY_TRY(const Directory directory, DecodeDirectory(directory_bytes));
  ORRERY_TRY_STATUS(CheckBlockSizes(directory));
  TraceSet set;
  set.card = directory.card;
  set.problems = directory.problems;
  set.ranks.resize(directory.ranks.size());
  std::deque<RankReader> ranks;
  for (std::size_t rank = 0; rank < set.ranks.size(); ++rank) {
    ranks.emplace_back(fmt::format("rank {}", rank), directory, directory.ranks[rank],
                       set.ranks[rank]);
  }
  ORRERY_TRY_STATUS(CheckMemory(ranks, file.size(), options.limits));
  std::vector<ReadTask> tasks;
  for (RankReader& rank : ranks) {
    ORRERY_TRY_STATUS(rank.Plan(tasks));
  }
  ORRERY_TRY_STATUS(Run(tasks, file, options.threads));
  return set;
}

}  // namespace
}  // namespace orr

Result<TraceSet> ReadOrrBytes(std::string_view bytes, const OrrReadOptions& options) {
  try {
    return orr::ReadSet(bytes, options);
  } catch (const std::bad_alloc&) {
    return Fail(Error::Kind::kLimit, "there is not enough memory for its columns");
  }
}

Result<TraceSet> ReadOrr(const std::string& path, const OrrReadOptions& options) {
  ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
  auto set = ReadOrrBytes(file.bytes(), options);
  if (!set) {
    return FailWithin(path, set);
  }
  return set;
}

}  // namespace orrery::trace
