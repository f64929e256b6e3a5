#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/ingest/nccl_tests/run.h"

namespace orrery::ingest::nccl_tests {

/// A word of a line and its position.
struct Word {
  std::string_view text;
  std::size_t begin = 0;

  [[nodiscard]] std::size_t end() const { return begin + text.size(); }
};

[[nodiscard]] std::vector<Word> SplitWords(std::string_view line);

/// Parses a number that is not negative; false for other words.
[[nodiscard]] bool ParseCount(std::string_view word, std::int64_t& value);

/// The columns of a row, as the header line names them.
class ColumnLayout {
 public:
  /// Parses a line such as "# size count type redop root time algbw busbw #wrong time …".
  static std::optional<ColumnLayout> FromHeader(std::string_view line);

  /// Returns the layout of a row whose header is missing, by its number of words.
  static std::optional<ColumnLayout> Assumed(std::size_t num_words);

  struct ParsedRow {
    Row row;
    std::size_t num_words = 0;  // words of the line that it used
  };

  /// Reads a row that begins with the first word; nothing if it is not complete. Rows of replayed
  /// traces leave the place under the out-of-place columns empty.
  [[nodiscard]] std::optional<ParsedRow> ParseRow(std::span<const Word> words) const;

  /// Names of columns that we do not understand.
  [[nodiscard]] const std::vector<std::string_view>& unknown() const { return unknown_; }

 private:
  enum class Kind { kSize, kCount, kType, kRedop, kRoot, kTiming, kTimestamp, kUnknown };

  struct Column {
    Kind kind = Kind::kUnknown;
    Placement placement = kOutOfPlace;
    TimingField field = nullptr;
  };

  static bool Store(const Column& column, std::string_view word, Row& row);
  [[nodiscard]] std::optional<ParsedRow> ParseColumns(std::span<const Word> words,
                                                      bool has_out_of_place) const;
  void AddColumn(const Word& name);

  std::vector<Column> columns_;
  std::vector<std::string_view> unknown_;
  std::size_t out_of_place_end_ = 0;  // end of the header's last out-of-place column
};

/// Returns whether a row of results begins at the first of `words`: bytes, elements, a type.
[[nodiscard]] bool BeginsRow(std::span<const Word> words);

/// Returns whether a line names the columns.
[[nodiscard]] bool IsColumnHeader(std::span<const Word> words);

}  // namespace orrery::ingest::nccl_tests
