#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::ingest {

/// Reads comma-separated values of any size row by row (fields in double quotes may hold commas,
/// line ends and doubled quotes). The first row names the columns; rows are asked by these names,
/// since versions of a tool differ in which columns there are.
class CsvRows {
 public:
  /// `source` must outlive the rows.
  explicit CsvRows(ByteSource& source) : source_(&source) {}

  /// Reads the header; false if there is none.
  [[nodiscard]] Result<bool> ReadHeader();

  /// Moves on to the next row that is not empty; false at the end. Fails for a row of more than
  /// 16 MiB.
  [[nodiscard]] Result<bool> Next();

  [[nodiscard]] bool HasColumn(std::string_view column) const;

  /// Returns a field of the row; empty for a column that is not there or a row that is too short.
  [[nodiscard]] std::string_view Text(std::string_view column) const;

  /// Returns an integer, decimal or with 0x.
  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view column) const;

  /// The number of the row's first line, counted from 1.
  [[nodiscard]] std::int64_t line() const { return line_; }

 private:
  Result<bool> ReadRow();
  void BeginField();
  void Take(char byte);
  Result<int> Get();

  ByteSource* source_;
  std::string window_;
  std::size_t position_ = 0;
  std::int64_t next_line_ = 1;
  std::int64_t line_ = 0;
  std::vector<std::string> columns_;
  std::vector<std::string> fields_;
  std::size_t num_fields_ = 0;
  bool is_quoted_ = false;
};

/// Reads an integer, decimal or with 0x in front; nothing for other text and beyond 63 bits.
[[nodiscard]] std::optional<std::int64_t> DecimalOrHex(std::string_view text);

}  // namespace orrery::ingest
