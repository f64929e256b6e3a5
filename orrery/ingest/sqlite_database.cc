#include "orrery/ingest/sqlite_database.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <sqlite3.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/ingest/input_file.h"

namespace orrery::ingest {
namespace {

constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr std::size_t kHeaderBytes = 100;

// Far above what an export contains, far below what would exhaust memory.
constexpr int kMaxValueBytes = 256 << 20;
constexpr int kMaxStatementBytes = 1 << 20;
constexpr int kMaxColumns = 2000;
constexpr int kMaxExpressionDepth = 50;

std::uint32_t ReadBigEndian(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return value;
}

// Makes the header of a copy agree with the copy: no write-ahead log beside it, and no more pages
// than there are. Returns whether pages are missing.
bool RepairHeader(std::string& content) {
  content[18] = 1;
  content[19] = 1;
  // Offsets in the database header: https://sqlite.org/fileformat.html#the_database_header
  const std::uint32_t stored = ReadBigEndian(content, 16, 2);
  const std::uint32_t page_bytes = stored == 1 ? 65536 : stored;
  const std::size_t pages = page_bytes < 512 ? 0 : content.size() / page_bytes;
  if (page_bytes < 512 || ReadBigEndian(content, 28, 4) <= pages) {
    return false;
  }
  // Without the rest of the last page, which SQLite would read as rows of nothing.
  content.resize(std::max(pages * page_bytes, kHeaderBytes));
  for (std::size_t i = 0; i < 4; ++i) {
    content[28 + i] = static_cast<char>(pages >> (8 * (3 - i)) & 0xFF);
  }
  return true;
}

std::string PercentEncoded(std::string_view path) {
  std::string encoded;
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '-' || c == '_';
    encoded += is_plain
                   ? std::string(1, c)
                   : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return encoded;
}

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    quoted.append(c == '"' ? 2 : 1, c);
  }
  return quoted + '"';
}

void Harden(sqlite3* connection) {
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(connection, SQLITE_LIMIT_SQL_LENGTH, kMaxStatementBytes);
  sqlite3_limit(connection, SQLITE_LIMIT_COLUMN, kMaxColumns);
  sqlite3_limit(connection, SQLITE_LIMIT_EXPR_DEPTH, kMaxExpressionDepth);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(connection, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_exec(connection, "PRAGMA cell_size_check=ON", nullptr, nullptr, nullptr);
}

sqlite3_stmt* Prepare(sqlite3* connection, const std::string& statement) {
  sqlite3_stmt* prepared = nullptr;
  sqlite3_prepare_v2(connection, statement.c_str(), static_cast<int>(statement.size()), &prepared,
                     nullptr);
  return prepared;
}

std::string_view StoredBytes(sqlite3_stmt* statement, int column) {
  // Text comes as UTF-8 whatever the encoding of the database.
  const void* bytes = sqlite3_column_type(statement, column) == SQLITE_TEXT
                          ? sqlite3_column_text(statement, column)
                          : sqlite3_column_blob(statement, column);
  const int size = sqlite3_column_bytes(statement, column);
  return bytes == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace

void TableScan::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void SqliteDatabase::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

bool TableScan::Next() {
  if (statement_ == nullptr) {
    return false;
  }
  const int code = sqlite3_step(statement_.get());
  const bool is_circular = --rows_left_ < 0 || text_left_ < 0;
  if (code == SQLITE_ROW && !is_circular) {
    return true;
  }
  if (code != SQLITE_DONE) {
    damage_ = code == SQLITE_ROW ? "its pages form a circle"
                                 : sqlite3_errmsg(sqlite3_db_handle(statement_.get()));
  }
  statement_.reset();
  return false;
}

bool TableScan::IsMissing(std::size_t column) const {
  const int at = position_[column];
  return at < 0 || sqlite3_column_type(statement_.get(), at) == SQLITE_NULL;
}

std::int64_t TableScan::Integer(std::size_t column, std::int64_t missing) const {
  const int at = position_[column];
  if (at < 0) {
    return missing;
  }
  // One look-up of the column for type and value: this is the hottest line of the reader.
  sqlite3_value* value = sqlite3_column_value(statement_.get(), at);
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return sqlite3_value_int64(value);
    case SQLITE_FLOAT:
      // 2^62 on both sides: larger values are invalid here, and the cast stays defined.
      return std::abs(sqlite3_value_double(value)) <= 4.6e18
                 ? std::llround(sqlite3_value_double(value))
                 : missing;
    case SQLITE_TEXT:
      return ParseWhole<std::int64_t>(StoredBytes(statement_.get(), at)).value_or(missing);
    default:
      return missing;
  }
}

std::int32_t TableScan::SmallInteger(std::size_t column, std::int32_t missing) const {
  const std::int64_t value = Integer(column, missing);
  return std::in_range<std::int32_t>(value) ? static_cast<std::int32_t>(value) : missing;
}

double TableScan::Number(std::size_t column, double missing) const {
  const int at = position_[column];
  if (at < 0) {
    return missing;
  }
  switch (sqlite3_column_type(statement_.get(), at)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_.get(), at);
    case SQLITE_TEXT:
      return ParseWhole<double>(StoredBytes(statement_.get(), at)).value_or(missing);
    default:
      return missing;
  }
}

std::string_view TableScan::Text(std::size_t column) {
  const int at = position_[column];
  if (at < 0) {
    return {};
  }
  const int type = sqlite3_column_type(statement_.get(), at);
  if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
    return {};
  }
  const std::string_view text = StoredBytes(statement_.get(), at);
  text_left_ -= static_cast<std::int64_t>(text.size());
  return text;
}

bool LooksLikeSqlite(std::string_view head) {
  return head.size() >= kHeaderBytes && head.starts_with(kMagic);
}

Result<SqliteDatabase> SqliteDatabase::Open(const InputFile& file) {
  SqliteDatabase database;
  if (!LooksLikeSqlite(file.head())) {
    return Fail(Error::Kind::kInvalidInput, file.path() + ": this is not a SQLite database");
  }
  if (file.is_plain_file() && database.OpenInPlace(file.path())) {
    database.bytes_ = file.packed_bytes();
    return database;
  }
  auto opened = database.OpenInMemory(file);
  if (!opened) {
    return FailWithin(file.path(), opened);
  }
  return database;
}

Status SqliteDatabase::Connect(const std::string& uri) {
  sqlite3* connection = nullptr;
  const int code =
      sqlite3_open_v2(uri.c_str(), &connection,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  connection_.reset(connection);
  if (code != SQLITE_OK) {
    return Fail(Error::Kind::kSystem,
                fmt::format("SQLite cannot open it: {}", sqlite3_errstr(code)));
  }
  Harden(connection);
  return {};
}

Status SqliteDatabase::OpenInPlace(const std::string& path) {
  ORRERY_TRY_STATUS(Connect(fmt::format("file:{}?mode=ro&immutable=1", PercentEncoded(path))));
  return ListTables();
}

Status SqliteDatabase::OpenInMemory(const InputFile& file) {
  ORRERY_TRY(const auto source, file.OpenContent());
  ORRERY_TRY(std::string content, ReadAll(*source));
  if (content.size() < kHeaderBytes) {
    return Fail(Error::Kind::kInvalidInput, "the SQLite header is truncated");
  }
  damage_ = source->damage();
  if (RepairHeader(content) && damage_.empty()) {
    damage_ = "the file is truncated";
  }
  content_ = std::make_unique<std::string>(std::move(content));
  bytes_ = static_cast<std::int64_t>(content_->size());
  ORRERY_TRY_STATUS(Connect(":memory:"));
  const int code = sqlite3_deserialize(connection_.get(), "main",
                                       reinterpret_cast<unsigned char*>(content_->data()), bytes_,
                                       bytes_, SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("SQLite cannot read it: {}", sqlite3_errstr(code)));
  }
  return ListTables();
}

Status SqliteDatabase::ListTables() {
  tables_.clear();
  // Virtual tables have no root page.
  const std::unique_ptr<sqlite3_stmt, TableScan::Finalize> statement(Prepare(
      connection_.get(), "SELECT name FROM sqlite_schema WHERE type='table' AND rootpage > 0"));
  int code = SQLITE_ERROR;
  while (statement != nullptr && (code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    tables_.emplace_back(StoredBytes(statement.get(), 0));
  }
  if (code != SQLITE_DONE && tables_.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("its list of tables cannot be read: {}; write it again",
                            sqlite3_errmsg(connection_.get())));
  }
  return {};
}

bool SqliteDatabase::HasTable(std::string_view table) const {
  return std::ranges::find(tables_, table) != tables_.end();
}

std::vector<std::string> SqliteDatabase::Columns(std::string_view table) const {
  std::vector<std::string> columns;
  if (!HasTable(table)) {
    return columns;
  }
  const std::unique_ptr<sqlite3_stmt, TableScan::Finalize> statement(
      Prepare(connection_.get(), fmt::format("PRAGMA table_info({})", Quoted(table))));
  while (statement != nullptr && sqlite3_step(statement.get()) == SQLITE_ROW) {
    columns.emplace_back(StoredBytes(statement.get(), 1));
  }
  return columns;
}

TableScan SqliteDatabase::Scan(std::string_view table,
                               std::span<const std::string_view> columns) const {
  TableScan scan;
  scan.position_.assign(columns.size(), -1);
  const std::vector<std::string> present = Columns(table);
  std::string selected;
  int position = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::ranges::find(present, columns[i]) != present.end()) {
      selected += (position == 0 ? "" : ",") + Quoted(columns[i]);
      scan.position_[i] = position++;
    }
  }
  if (!HasTable(table)) {
    return scan;
  }
  // NOT INDEXED: rows in the order they were written, regardless of added indexes.
  scan.statement_.reset(
      Prepare(connection_.get(), fmt::format("SELECT {} FROM main.{} NOT INDEXED",
                                             position == 0 ? "NULL" : selected, Quoted(table))));
  if (scan.statement_ == nullptr) {
    scan.damage_ = sqlite3_errmsg(connection_.get());
  }
  scan.rows_left_ = bytes_;
  scan.text_left_ = 4 * bytes_;
  return scan;
}

bool SqliteDatabase::IsEmpty(std::string_view table) const {
  return !Scan(table, {}).Next();
}

}  // namespace orrery::ingest
