#include "orrery/base/document/csv.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "orrery/base/document/packed_table.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/table.h"
#include "orrery/base/text/text.h"

namespace orrery {
namespace {

struct Field {
  std::string text;
  bool is_quoted = false;

  bool is_missing() const { return text.empty() && !is_quoted; }
};

using Record = std::vector<Field>;

tl::unexpected<Error> FailAtLine(std::int64_t line, std::string_view what) {
  return Invalid("line {}: {}", line, what);
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Cuts text into records, one call each.
class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMark)) {
      rest_.remove_prefix(kByteOrderMark.size());
    }
  }

  bool at_end() const { return rest_.empty(); }

  std::int64_t line() const { return line_; }

  Result<Record> Next() {
    Record record;
    while (true) {
      ORRERY_TRY(Field field, NextField());
      record.push_back(std::move(field));
      if (rest_.starts_with(',')) {
        rest_.remove_prefix(1);
        continue;
      }
      SkipLineEnd();
      return record;
    }
  }

 private:
  Result<Field> NextField() {
    if (rest_.starts_with('"')) {
      return QuotedField();
    }
    const std::size_t end = UnquotedLength();
    Field field{.text = std::string(rest_.substr(0, end))};
    rest_.remove_prefix(end);
    return field;
  }

  std::size_t UnquotedLength() const {
    const std::size_t end = std::min(rest_.find_first_of(",\n"), rest_.size());
    const bool ends_line = end == rest_.size() || rest_[end] == '\n';
    return ends_line && end > 0 && rest_[end - 1] == '\r' ? end - 1 : end;
  }

  Result<Field> QuotedField() {
    const std::int64_t first_line = line_;
    Field field{.text = {}, .is_quoted = true};
    rest_.remove_prefix(1);
    while (true) {
      const std::size_t quote = rest_.find('"');
      if (quote == std::string_view::npos) {
        return FailAtLine(first_line, "a quote is not closed");
      }
      const std::string_view piece = rest_.substr(0, quote);
      line_ += std::count(piece.begin(), piece.end(), '\n');
      field.text += piece;
      rest_.remove_prefix(quote + 1);
      if (!rest_.starts_with('"')) {
        break;
      }
      field.text += '"';
      rest_.remove_prefix(1);
    }
    if (!AtFieldEnd()) {
      return FailAtLine(line_, "text follows a closing quote; a quote inside is written twice");
    }
    return field;
  }

  bool AtFieldEnd() const {
    return rest_.empty() || rest_ == "\r" || rest_.starts_with(',') || rest_.starts_with('\n') ||
           rest_.starts_with("\r\n");
  }

  void SkipLineEnd() {
    if (rest_.starts_with('\r')) {
      rest_.remove_prefix(1);
    }
    if (rest_.starts_with('\n')) {
      rest_.remove_prefix(1);
    }
    ++line_;
  }

  std::string_view rest_;
  std::int64_t line_ = 1;
};

// "007" is an identifier, not seven.
bool HasLeadingZero(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  return digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9';
}

template <typename T>
std::optional<T> ParseValue(std::string_view field) {
  const std::string_view text = Trimmed(field, " ");
  return HasLeadingZero(text) ? std::nullopt : ParseWhole<T>(text);
}

template <typename T>
bool AllAre(const std::vector<Record>& records, std::size_t column) {
  return std::all_of(records.begin(), records.end(), [&](const Record& record) {
    return record[column].text.empty() || ParseValue<T>(record[column].text).has_value();
  });
}

Table::Type InferType(const std::vector<Record>& records, std::size_t column) {
  const bool has_value = std::any_of(records.begin(), records.end(), [&](const Record& record) {
    return !record[column].text.empty();
  });
  if (has_value && AllAre<std::int64_t>(records, column)) {
    return Table::Type::kInteger;
  }
  return has_value && AllAre<double>(records, column) ? Table::Type::kNumber : Table::Type::kText;
}

Table::Cell ToCell(const Field& field, Table::Type type) {
  if (type == Table::Type::kText) {
    return field.is_missing() ? Table::Cell() : Table::Cell(field.text);
  }
  if (field.text.empty()) {
    return {};
  }
  return type == Table::Type::kInteger ? Table::Cell(*ParseValue<std::int64_t>(field.text))
                                       : Table::Cell(*ParseValue<double>(field.text));
}

Status CheckHeader(const Record& header) {
  if (header.size() == 1 && header[0].text.empty()) {
    return FailAtLine(1, "the header is empty; the first line names the columns");
  }
  std::set<std::string_view> names;
  for (const Field& field : header) {
    if (!names.insert(field.text).second) {
      return FailAtLine(1, fmt::format("two columns are called '{}'", field.text));
    }
  }
  return {};
}

Result<std::vector<Record>> ReadRecords(Tokenizer& tokenizer, std::size_t num_columns) {
  std::vector<Record> records;
  while (!tokenizer.at_end()) {
    const std::int64_t line = tokenizer.line();
    ORRERY_TRY(Record record, tokenizer.Next());
    const bool is_blank = record.size() == 1 && record[0].is_missing();
    if (is_blank && num_columns > 1) {
      continue;
    }
    if (record.size() != num_columns) {
      return FailAtLine(
          line, fmt::format("{} fields, but the header names {}", record.size(), num_columns));
    }
    records.push_back(std::move(record));
  }
  return records;
}

Table ToTable(const Record& header, const std::vector<Record>& records) {
  Table table;
  for (std::size_t column = 0; column < header.size(); ++column) {
    table.AddColumn(header[column].text, InferType(records, column));
  }
  for (const Record& record : records) {
    const std::size_t row = table.AddRow();
    for (std::size_t column = 0; column < header.size(); ++column) {
      table.Set(row, column, ToCell(record[column], table.column_type(column)));
    }
  }
  return table;
}

void AppendText(std::string_view text, std::string& out) {
  // Text that would not come back as it is without quotes.
  const bool needs_quotes = text.empty() ||
                            text.find_first_of(",\"\r\n") != std::string_view::npos ||
                            text.starts_with(kByteOrderMark);
  if (!needs_quotes) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    out += c;
    if (c == '"') {
      out += '"';
    }
  }
  out += '"';
}

// A point keeps a whole number a number for the next reader.
void AppendNumber(double value, std::string& out) {
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".en", begin) == std::string::npos) {
    out += ".0";
  }
}

void AppendCell(const Table::Cell& cell, std::string& out) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    fmt::format_to(std::back_inserter(out), "{}", *integer);
  } else if (const auto* number = std::get_if<double>(&cell)) {
    AppendNumber(*number, out);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    AppendText(*text, out);
  }
}

}  // namespace

Result<Table> ParseCsv(std::string_view text) {
  Tokenizer tokenizer(text);
  ORRERY_TRY(const Record header, tokenizer.Next());
  ORRERY_TRY_STATUS(CheckHeader(header));
  ORRERY_TRY(const std::vector<Record> records, ReadRecords(tokenizer, header.size()));
  return ToTable(header, records);
}

Result<std::vector<std::vector<std::string>>> ParseCsvRecords(std::string_view text) {
  Tokenizer tokenizer(text);
  std::vector<std::vector<std::string>> records;
  while (!tokenizer.at_end()) {
    ORRERY_TRY(Record record, tokenizer.Next());
    std::vector<std::string>& fields = records.emplace_back();
    for (Field& field : record) {
      fields.push_back(std::move(field.text));
    }
  }
  return records;
}

std::string FormatCsvRecords(const std::vector<std::vector<std::string>>& records) {
  std::string out;
  for (const std::vector<std::string>& record : records) {
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (!record[i].empty()) {
        AppendText(record[i], out);
      }
      out += i + 1 < record.size() ? ',' : '\n';
    }
  }
  return out;
}

bool IsCsvName(std::string_view path) {
  constexpr std::array<std::string_view, 4> kEndings{".csv", ".csv.gz", ".csv.zst", ".orrtable"};
  return std::ranges::any_of(kEndings, [&](std::string_view end) { return path.ends_with(end); });
}

Result<std::string> ReadCsvText(const std::string& path) {
  ORRERY_TRY(auto file, OpenFile(path));
  const auto source = Unpack(std::move(file));
  auto text = ReadAll(*source);
  if (!text) {
    return FailWithin(path, text);
  }
  if (const std::string damage = source->damage(); !damage.empty()) {
    return Invalid("{}: {}", path, damage);
  }
  if (!IsPackedTable(*text)) {
    return text;
  }
  auto unpacked = UnpackTable(*text);
  return unpacked ? std::move(unpacked) : FailWithin(path, unpacked);
}

Result<Table> ReadCsvFile(const std::string& path) {
  ORRERY_TRY(const std::string text, ReadCsvText(path));
  auto table = ParseCsv(text);
  return table ? std::move(table) : FailWithin(path, table);
}

std::string FormatCsv(const Table& table) {
  std::string out;
  const auto separator = [&](std::size_t column) {
    return column + 1 < table.num_columns() ? ',' : '\n';
  };
  for (std::size_t column = 0; column < table.num_columns(); ++column) {
    AppendText(table.column_name(column), out);
    out += separator(column);
  }
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    for (std::size_t column = 0; column < table.num_columns(); ++column) {
      AppendCell(table.At(row, column), out);
      out += separator(column);
    }
  }
  return out;
}

Status WriteCsvFile(const Table& table, const std::string& path) {
  return WriteFile(path, FormatCsv(table));
}

}  // namespace orrery
