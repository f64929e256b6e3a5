#pragma once

#include <string>

#include <sqlite3.h>

namespace orrery::ingest {

/// Makes a SQLite database from statements and serves its bytes.
class TestDatabase {
 public:
  TestDatabase() { sqlite3_open(":memory:", &connection_); }

  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  ~TestDatabase() { sqlite3_close(connection_); }

  /// Returns what SQLite has to complain about; empty when all is well.
  std::string Run(const std::string& statements) {
    char* message = nullptr;
    sqlite3_exec(connection_, statements.c_str(), nullptr, nullptr, &message);
    std::string complaint = message == nullptr ? "" : message;
    sqlite3_free(message);
    return complaint;
  }

  [[nodiscard]] std::string Bytes() const {
    sqlite3_int64 size = 0;
    unsigned char* bytes = sqlite3_serialize(connection_, "main", &size, 0);
    std::string copy(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
    sqlite3_free(bytes);
    return copy;
  }

 private:
  sqlite3* connection_ = nullptr;
};

}  // namespace orrery::ingest
