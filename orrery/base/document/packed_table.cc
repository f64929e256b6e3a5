#include "orrery/base/document/packed_table.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "orrery/base/document/cell_pattern.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/document/number_lists.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/file/zstd_frame.h"

namespace orrery {
namespace {

constexpr std::string_view kMagic = "ORRTABLE";
constexpr std::uint32_t kVersion = 1;

/// So that a few bytes cannot stand for a table without end.
constexpr std::size_t kMaxCellsPerByte = 64;
constexpr std::size_t kFreeCells = 1 << 20;

using Cells = std::vector<std::string>;
using Numbers = std::vector<std::uint64_t>;

/// Numbers the texts that it is given, in order.
class TextNumbers {
 public:
  std::uint64_t Of(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) {
      texts_.push_back(text);
    }
    return entry->second;
  }

  [[nodiscard]] const Cells& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
  Cells texts_;
};

void WritePatterns(const Cells& cells, ByteWriter& out, NumberListWriter& lists) {
  TextNumbers patterns;
  Numbers pattern_of_cell;
  std::vector<std::vector<Numbers>> numbers;  // [pattern][place in it]
  for (const std::string& cell : cells) {
    const SplitCell split = SplitNumbers(cell);
    const std::uint64_t pattern = patterns.Of(split.pattern);
    numbers.resize(patterns.texts().size());
    numbers[pattern].resize(split.numbers.size());
    for (std::size_t place = 0; place < split.numbers.size(); ++place) {
      numbers[pattern][place].push_back(split.numbers[place]);
    }
    pattern_of_cell.push_back(pattern);
  }
  out.Number(static_cast<std::uint32_t>(patterns.texts().size()));
  for (const std::string& pattern : patterns.texts()) {
    out.Text(pattern);
  }
  lists.Add(pattern_of_cell);
  for (const std::vector<Numbers>& of_pattern : numbers) {
    for (const Numbers& at_place : of_pattern) {
      lists.AddValues(at_place);
    }
  }
}

struct PackedCells {
  std::string frame;
  Numbers longest;  // list of values
};

// `repeats`: the written cell of each row, where some are alike; else none.
PackedCells PackCells(const Cells& written, const Numbers& repeats, const Numbers& reference) {
  ByteWriter out;
  NumberListWriter lists(reference);
  out.Number(static_cast<std::uint32_t>(written.size()));
  WritePatterns(written, out, lists);
  if (!repeats.empty()) {
    lists.Add(repeats);
  }
  lists.WriteTo(out);
  return {.frame = ZstdFrame(out.bytes()), .longest = lists.longest()};
}

PackedCells PackColumn(const Cells& cells, const Numbers& reference) {
  TextNumbers distinct;
  Numbers repeats;
  for (const std::string& cell : cells) {
    repeats.push_back(distinct.Of(cell));
  }
  PackedCells every = PackCells(cells, {}, reference);
  if (distinct.texts().size() == cells.size()) {
    return every;
  }
  PackedCells once = PackCells(distinct.texts(), repeats, reference);
  return once.frame.size() < every.frame.size() ? once : every;
}

/// The cells of one pattern, which come back one after the other.
class PatternCells {
 public:
  PatternCells(std::string pattern, std::size_t count, NumberListReader& in)
      : pattern_(std::move(pattern)) {
    const int num_numbers = CountNumbers(pattern_);
    if (num_numbers < 0) {
      in.SetFailed();
    }
    for (int place = 0; place < num_numbers && !in.failed(); ++place) {
      numbers_.push_back(in.NextValues(count));
    }
  }

  std::string Next() {
    SplitCell cell{.pattern = pattern_, .numbers = {}};
    for (const Numbers& at_place : numbers_) {
      cell.numbers.push_back(at_place[next_]);
    }
    ++next_;
    return JoinNumbers(cell);
  }

 private:
  std::string pattern_;
  std::vector<Numbers> numbers_;  // by place in the pattern
  std::size_t next_ = 0;
};

// Patterns of cells with their numbers; fails where a number is missing.
std::vector<PatternCells> ReadPatterns(const Cells& patterns, const Numbers& pattern_of_cell,
                                       NumberListReader& in) {
  std::vector<std::size_t> uses(patterns.size());
  for (const std::uint64_t pattern : pattern_of_cell) {
    if (pattern >= patterns.size()) {
      in.SetFailed();
      return {};
    }
    ++uses[pattern];
  }
  std::vector<PatternCells> cells_of_pattern;
  for (std::size_t i = 0; i < patterns.size() && !in.failed(); ++i) {
    cells_of_pattern.emplace_back(patterns[i], uses[i], in);
  }
  return cells_of_pattern;
}

/// Columns of a table, which together have at most as many characters as a packed file may unpack
/// to.
class ColumnReader {
 public:
  ColumnReader(std::size_t num_rows, std::size_t packed_bytes)
      : num_rows_(num_rows),
        characters_left_(std::max(static_cast<double>(UnpackLimits().free_bytes),
                                  UnpackLimits().max_ratio * static_cast<double>(packed_bytes))) {}

  Result<Cells> Read(std::string_view frame) {
    const std::unique_ptr<ByteSource> source = Unpack(OpenMemory(frame));
    ORRERY_TRY(const std::string bytes, ReadAll(*source));
    ByteReader in(bytes);
    const std::size_t count = in.Number<std::uint32_t>();
    Cells patterns(in.Count(sizeof(std::uint32_t)));
    for (std::string& pattern : patterns) {
      pattern = in.Text();
    }
    NumberListReader lists(in, std::move(reference_));
    if (count > num_rows_ || in.failed() || in.skipped_bytes() > 0 || !source->damage().empty()) {
      return Damaged();
    }
    Cells cells = ReadCells(count, patterns, lists);
    if (lists.failed() || !lists.at_end()) {
      return Damaged();
    }
    reference_ = lists.longest();
    return cells;
  }

  static tl::unexpected<Error> Damaged() { return Invalid("the packed table is damaged"); }

 private:
  Cells ReadCells(std::size_t count, const Cells& patterns, NumberListReader& in) {
    Cells written = ReadWritten(count, patterns, in);
    if (count == num_rows_ || in.failed()) {
      return written;
    }
    Cells cells;
    for (const std::uint64_t number : in.Next(num_rows_)) {
      if (number >= written.size() || !Take(written[number], in)) {
        in.SetFailed();
        return {};
      }
      cells.push_back(written[number]);
    }
    return cells;
  }

  Cells ReadWritten(std::size_t count, const Cells& patterns, NumberListReader& in) {
    const Numbers pattern_of_cell = in.Next(count);
    std::vector<PatternCells> cells_of_pattern = ReadPatterns(patterns, pattern_of_cell, in);
    Cells cells;
    for (std::size_t i = 0; i < pattern_of_cell.size() && !in.failed(); ++i) {
      cells.push_back(cells_of_pattern[pattern_of_cell[i]].Next());
      Take(cells.back(), in);
    }
    return cells;
  }

  bool Take(std::string_view cell, NumberListReader& in) {
    characters_left_ -= static_cast<double>(cell.size());
    if (characters_left_ < 0) {
      in.SetFailed();
    }
    return characters_left_ >= 0;
  }

  std::size_t num_rows_;
  double characters_left_;
  Numbers reference_;
};

Result<std::string> UnpackColumns(std::string_view bytes) {
  ByteReader in(bytes);
  const auto num_rows = in.Number<std::uint32_t>();
  const std::size_t num_columns = in.Count(sizeof(std::uint32_t));
  if (std::size_t{num_rows} * num_columns > kFreeCells + kMaxCellsPerByte * bytes.size()) {
    return ColumnReader::Damaged();
  }
  ColumnReader reader(num_rows, bytes.size());
  std::vector<Cells> rows(num_columns == 0 ? 0 : num_rows, Cells(num_columns));
  for (std::size_t column = 0; column < num_columns; ++column) {
    ORRERY_TRY(Cells cells, reader.Read(in.Text()));
    for (std::size_t row = 0; row < num_rows; ++row) {
      rows[row][column] = std::move(cells[row]);
    }
  }
  if (in.failed() || in.skipped_bytes() > 0) {
    return ColumnReader::Damaged();
  }
  return FormatCsvRecords(rows);
}

}  // namespace

Result<std::string> PackTable(std::string_view csv) {
  ORRERY_TRY(const std::vector<Cells> rows, ParseCsvRecords(csv));
  const std::size_t num_columns = rows.empty() ? 0 : rows.front().size();
  const auto is_whole = [&](const Cells& row) { return row.size() == num_columns; };
  if (!std::ranges::all_of(rows, is_whole) || FormatCsvRecords(rows) != csv ||
      csv.find(kNumberMark) != std::string_view::npos) {
    return Invalid(
        "not a table that packing gives back: write it with lines of equal length that end in "
        "\\n, and with quotes only where they are needed");
  }
  ByteWriter columns;
  columns.Number(static_cast<std::uint32_t>(rows.size()));
  columns.Number(static_cast<std::uint32_t>(num_columns));
  Numbers reference;
  for (std::size_t column = 0; column < num_columns; ++column) {
    Cells cells;
    for (const Cells& row : rows) {
      cells.push_back(row[column]);
    }
    PackedCells packed = PackColumn(cells, reference);
    columns.Text(packed.frame);
    reference = std::move(packed.longest);
  }
  ByteWriter head;
  head.Number(kVersion);
  head.Number(std::uint64_t{XXH64(columns.bytes().data(), columns.bytes().size(), 0)});
  return std::string(kMagic) + head.bytes() + columns.bytes();
}

bool IsPackedTable(std::string_view head) {
  return head.starts_with(kMagic);
}

Result<std::string> UnpackTable(std::string_view packed) {
  packed.remove_prefix(kMagic.size());
  ByteReader head(packed);
  const auto version = head.Number<std::uint32_t>();
  const auto checksum = head.Number<std::uint64_t>();
  if (version > kVersion) {
    return Invalid(
        "written by a newer Orrery (table version {}, this program reads {}): update Orrery",
        version, kVersion);
  }
  const std::string_view rest =
      packed.substr(std::min(packed.size(), sizeof(version) + sizeof(checksum)));
  if (XXH64(rest.data(), rest.size(), 0) != checksum) {
    return Invalid("the packed table is damaged: its checksum is wrong");
  }
  return UnpackColumns(rest);
}

}  // namespace orrery
