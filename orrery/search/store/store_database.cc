#include "orrery/search/store/store_database.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>
#include <sqlite3.h>
#include <xxhash.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"

namespace orrery::search {
namespace {

constexpr int kPatienceMs = 60'000;  // while another program reads the database for the first time

/// A statement with its values.
class Statement {
 public:
  Statement(sqlite3* connection, std::string_view text) {
    status_ = sqlite3_prepare_v2(connection, text.data(), static_cast<int>(text.size()),
                                 &statement_, nullptr);
  }

  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  ~Statement() { sqlite3_finalize(statement_); }

  /// Texts and bytes stay where they are until the statement is gone.
  void Bind(const Cell& cell) {
    const int place = ++bound_;
    const auto* const integer = std::get_if<std::int64_t>(&cell);
    const auto* const real = std::get_if<double>(&cell);
    const auto* const text = std::get_if<std::string>(&cell);
    const auto* const blob = std::get_if<Blob>(&cell);
    const int status =
        integer != nullptr ? sqlite3_bind_int64(statement_, place, *integer)
        : real != nullptr  ? sqlite3_bind_double(statement_, place, *real)
        : text != nullptr  ? sqlite3_bind_text(statement_, place, text->data(),
                                               static_cast<int>(text->size()), SQLITE_STATIC)
        : blob != nullptr  ? sqlite3_bind_blob64(statement_, place, blob->bytes.data(),
                                                 blob->bytes.size(), SQLITE_STATIC)
                           : sqlite3_bind_null(statement_, place);
    status_ = status_ == SQLITE_OK ? status : status_;
  }

  /// SQLITE_ROW, SQLITE_DONE or what went wrong.
  int Step() {
    if (status_ == SQLITE_OK || status_ == SQLITE_ROW) {
      status_ = sqlite3_step(statement_);
    }
    return status_;
  }

  [[nodiscard]] int num_columns() const { return sqlite3_column_count(statement_); }

  [[nodiscard]] std::int64_t Integer(int column) const {
    return sqlite3_column_int64(statement_, column);
  }

  [[nodiscard]] std::string Bytes(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }

  [[nodiscard]] Cell At(int column) const {
    switch (sqlite3_column_type(statement_, column)) {
      case SQLITE_INTEGER:
        return Integer(column);
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement_, column);
      case SQLITE_TEXT:
        return Bytes(column);
      case SQLITE_BLOB:
        return Blob{Bytes(column)};
      default:
        return std::monostate();
    }
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int status_ = SQLITE_OK;
  int bound_ = 0;
};

// As SQLite gives it back: it has no NaN, and no zero below zero.
Cell AsStored(Cell cell) {
  if (const auto* const real = std::get_if<double>(&cell)) {
    return std::isnan(*real) ? Cell() : Cell(*real == 0 ? 0.0 : *real);
  }
  return cell;
}

// The record of a row, whose checksum is its last column.
StoreDatabase::Read ReadRow(const Statement& statement, std::uint64_t seed) {
  StoreDatabase::Read read;
  const int num_values = statement.num_columns() - 1;
  for (int column = 0; column < num_values; ++column) {
    read.record.push_back(statement.At(column));
  }
  read.is_sound = statement.At(num_values) == Cell(ChecksumOf(read.record, seed));
  return read;
}

}  // namespace

std::int64_t ChecksumOf(const Record& record, std::uint64_t seed) {
  ByteWriter writer;
  writer.Number(static_cast<std::uint64_t>(record.size()));
  for (const Cell& cell : record) {
    writer.Number(static_cast<std::uint8_t>(cell.index()));
    if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
      writer.Number(*integer);
    } else if (const auto* const real = std::get_if<double>(&cell)) {
      writer.Number(std::bit_cast<std::uint64_t>(*real));
    } else if (const auto* const text = std::get_if<std::string>(&cell)) {
      writer.Text(*text);
    } else if (const auto* const blob = std::get_if<Blob>(&cell)) {
      writer.Text(blob->bytes);
    }
  }
  return std::bit_cast<std::int64_t>(
      XXH3_64bits_withSeed(writer.bytes().data(), writer.bytes().size(), seed));
}

void StoreDatabase::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Result<StoreDatabase> StoreDatabase::Open(const std::string& path, Access access) {
  StoreDatabase database;
  database.path_ = path;
  sqlite3* connection = nullptr;
  const int flags =
      access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int status =
      sqlite3_open_v2(path.c_str(), &connection, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
  database.connection_.reset(connection);
  if (status != SQLITE_OK) {
    return Fail(Error::Kind::kSystem, fmt::format("{}: the store cannot be opened: {}", path,
                                                  sqlite3_errmsg(connection)));
  }
  sqlite3_busy_timeout(connection, kPatienceMs);
  // FULL: in WAL mode a commit is on the disk when it returns.
  ORRERY_TRY_STATUS(database.Execute(
      "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA synchronous=FULL;"));
  return database;
}

Error StoreDatabase::Damaged(std::string_view what) const {
  return {Error::Kind::kInvalidInput,
          fmt::format("{}: the store is damaged ({}): `orrery search` with --repair keeps its "
                      "sound records and computes the others again",
                      path_, what)};
}

tl::unexpected<Error> StoreDatabase::DatabaseError() const {
  const int code = sqlite3_errcode(connection_.get());
  const std::string message = sqlite3_errmsg(connection_.get());
  if (code == SQLITE_NOTADB) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: this is no store of plans, or it is damaged ({}): name another "
                            "file",
                            path_, message));
  }
  if (code == SQLITE_CORRUPT || code == SQLITE_ERROR) {  // an error: a table is not there
    return tl::unexpected(Damaged(message));
  }
  return Fail(Error::Kind::kSystem,
              fmt::format("{}: the store cannot be used: {}; plans decided before are in it, and "
                          "--resume goes on from there",
                          path_, message));
}

Status StoreDatabase::Execute(const std::string& text) {
  if (sqlite3_exec(connection_.get(), text.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return DatabaseError();
  }
  return {};
}

Result<std::int64_t> StoreDatabase::ReadNumber(std::string_view text) {
  Statement statement(connection_.get(), text);
  if (statement.Step() != SQLITE_ROW) {
    return DatabaseError();
  }
  return statement.Integer(0);
}

Result<std::string> StoreDatabase::StructureProblem() {
  Statement statement(connection_.get(), "PRAGMA quick_check(1)");
  if (statement.Step() != SQLITE_ROW) {
    return DatabaseError();
  }
  const std::string problem = statement.Bytes(0);
  return problem == "ok" ? std::string() : problem.substr(0, problem.find('\n'));
}

Status StoreDatabase::Insert(const StoreTable& table, Record record, std::uint64_t seed) {
  std::ranges::transform(record, record.begin(), AsStored);
  const Cell checksum = ChecksumOf(record, seed);
  std::string places = "?";
  for (std::size_t i = 0; i < record.size(); ++i) {
    places += ", ?";
  }
  Statement statement(connection_.get(),
                      fmt::format("INSERT OR REPLACE INTO {} VALUES ({})", table.name, places));
  for (const Cell& cell : record) {
    statement.Bind(cell);
  }
  statement.Bind(checksum);
  if (statement.Step() != SQLITE_DONE) {
    return DatabaseError();
  }
  return {};
}

Result<std::optional<Record>> StoreDatabase::Find(const StoreTable& table, std::int64_t key,
                                                  std::uint64_t seed) {
  const std::string_view key_column = table.columns.substr(0, table.columns.find(','));
  Statement statement(connection_.get(), fmt::format("SELECT {}, checksum FROM {} WHERE {} = ?",
                                                     table.columns, table.name, key_column));
  const Cell wanted = key;
  statement.Bind(wanted);
  const int status = statement.Step();
  if (status == SQLITE_DONE) {
    return std::nullopt;
  }
  if (status != SQLITE_ROW) {
    return DatabaseError();
  }
  Read read = ReadRow(statement, seed);
  if (!read.is_sound) {
    return tl::unexpected(Damaged(fmt::format("{} {} of {}", key_column, key, table.name)));
  }
  return std::move(read.record);
}

Status StoreDatabase::ForEach(const StoreTable& table, std::uint64_t seed, bool is_reversed,
                              const std::function<bool(Read)>& take) {
  const std::string_view key = table.columns.substr(0, table.columns.find(','));
  Statement statement(connection_.get(),
                      fmt::format("SELECT {}, checksum FROM {} ORDER BY {}{}", table.columns,
                                  table.name, key, is_reversed ? " DESC" : ""));
  int status = statement.Step();
  for (std::uint64_t number = 1; status == SQLITE_ROW; status = statement.Step(), ++number) {
    Read read = ReadRow(statement, seed);
    read.number = number;
    if (!take(std::move(read))) {
      return {};
    }
  }
  if (status != SQLITE_DONE) {
    return DatabaseError();
  }
  return {};
}

Status StoreDatabase::CheckAll(const StoreTable& table, std::uint64_t seed) {
  std::uint64_t damaged = 0;
  ORRERY_TRY_STATUS(ForEach(table, seed, false, [&](const Read& read) {
    damaged = read.is_sound ? 0 : read.number;
    return read.is_sound;
  }));
  if (damaged > 0) {
    return tl::unexpected(Damaged(fmt::format("record {} of {}", damaged, table.name)));
  }
  return {};
}

}  // namespace orrery::search
