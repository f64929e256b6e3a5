#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"

namespace orrery {

/// A row of measurements that is not used, and why.
struct RejectedRow {
  std::uint32_t file = 0;  // place in a list of names
  std::uint32_t line = 0;  // 0: not known
  std::string reason;
};

/// Reads comma-separated values (RFC 4180, LF or CRLF) with a header line. A column is of integers
/// if all its values are, else of numbers if all are, else text; digits behind a leading zero
/// ("007") are text. An empty field is missing; a quoted empty field is empty text in a column of
/// text. Errors name the line.
[[nodiscard]] Result<Table> ParseCsv(std::string_view text);

/// Reads the records of such text as they are: no header, and as many fields as each line has. For
/// tables of other tools whose lines are of unequal length.
[[nodiscard]] Result<std::vector<std::vector<std::string>>> ParseCsvRecords(std::string_view text);

/// Writes records with quotes only where they are needed.
[[nodiscard]] std::string FormatCsvRecords(const std::vector<std::vector<std::string>>& records);

/// Returns true for names of CSV files, plain, packed, or packed tables.
[[nodiscard]] bool IsCsvName(std::string_view path);

/// Returns the text of a file, plain, packed, or a packed table. Damaged packing is an error.
[[nodiscard]] Result<std::string> ReadCsvText(const std::string& path);

/// Reads the text of a file with `ParseCsv`.
[[nodiscard]] Result<Table> ReadCsvFile(const std::string& path);

/// Writes what `ParseCsv` reads back as the same table, unless a column of text looks like numbers.
/// Numbers have the fewest digits that read back as the same value.
[[nodiscard]] std::string FormatCsv(const Table& table);

/// Writes a file, packed if its name ends in ".gz" or ".zst".
[[nodiscard]] Status WriteCsvFile(const Table& table, const std::string& path);

}  // namespace orrery
