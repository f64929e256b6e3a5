#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/input_file.h"

struct sqlite3;
struct sqlite3_stmt;

namespace orrery::ingest {

/// One pass over all rows of a table, over the columns that were requested. A column that the table
/// lacks, a NULL and a value of the wrong type all read as missing.
///
/// A damaged page ends the pass early; `damage()` then says why. Pages that refer to each other in
/// a circle would give rows for ever, so a pass also ends when it has given more rows or text than
/// the size of the database allows.
class TableScan {
 public:
  /// Steps to the next row; false at the end.
  bool Next();

  [[nodiscard]] bool has_column(std::size_t column) const { return position_[column] >= 0; }

  [[nodiscard]] bool IsMissing(std::size_t column) const;

  /// Whole numbers, and text that spells one.
  [[nodiscard]] std::int64_t Integer(std::size_t column, std::int64_t missing = 0) const;

  /// As Integer; numbers beyond 32 bits are missing.
  [[nodiscard]] std::int32_t SmallInteger(std::size_t column, std::int32_t missing = 0) const;

  [[nodiscard]] double Number(std::size_t column, double missing = 0) const;

  /// Text or bytes as they are stored, valid until the next step; empty for numbers.
  [[nodiscard]] std::string_view Text(std::size_t column);

  /// After the end: what broke the pass off, or nothing.
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  friend class SqliteDatabase;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  TableScan() = default;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;  // null: nothing to read
  std::vector<int> position_;                          // of each column requested; -1: none
  std::int64_t rows_left_ = 0;
  std::int64_t text_left_ = 0;
  std::string damage_;
};

/// A SQLite database opened read-only and not trusted: a trace. Only real tables are seen; views,
/// virtual tables and triggers are not.
class SqliteDatabase {
 public:
  /// Opens a plain file in place, read-only and immutable. Compressed and in-memory content, and
  /// files that SQLite refuses in place (truncated, or in write-ahead mode), are read into memory.
  static Result<SqliteDatabase> Open(const InputFile& file);

  /// Names of the tables, in the order of the schema.
  [[nodiscard]] const std::vector<std::string>& tables() const { return tables_; }

  [[nodiscard]] bool HasTable(std::string_view table) const;

  /// Names of the table's columns; none if there is no such table.
  [[nodiscard]] std::vector<std::string> Columns(std::string_view table) const;

  /// Starts a pass over `table`; it gives no rows if there is no such table.
  [[nodiscard]] TableScan Scan(std::string_view table,
                               std::span<const std::string_view> columns) const;

  [[nodiscard]] bool IsEmpty(std::string_view table) const;

  /// Damage of the file as a whole ("gzip data end early …", "the file is truncated").
  [[nodiscard]] const std::string& damage() const { return damage_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };

  SqliteDatabase() = default;

  Status Connect(const std::string& uri);
  Status OpenInPlace(const std::string& path);
  Status OpenInMemory(const InputFile& file);
  Status ListTables();

  std::unique_ptr<std::string> content_;  // must outlive the connection, and must not move
  std::unique_ptr<sqlite3, Close> connection_;
  std::vector<std::string> tables_;
  std::int64_t bytes_ = 0;
  std::string damage_;
};

/// The first bytes say that the content is a SQLite database.
[[nodiscard]] bool LooksLikeSqlite(std::string_view head);

}  // namespace orrery::ingest
