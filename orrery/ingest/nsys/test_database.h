#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sqlite3.h>

#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"

namespace orrery::ingest::nsys {

const Format& GetFormat();

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

inline Result<FileContent> ReadBytes(std::string_view bytes) {
  ORRERY_TRY(const InputFile file, InputFile::FromMemory("run.sqlite", bytes));
  return GetFormat().read(file, {});
}

inline bool MatchesBytes(std::string_view bytes) {
  const auto file = InputFile::FromMemory("run.sqlite", bytes);
  return file && GetFormat().matches(*file);
}

/// Finds a problem by a part of its text.
inline std::optional<trace::Problem> FindProblem(const trace::Trace& trace, std::string_view part) {
  for (const trace::Problem& problem : trace.problems.all()) {
    if (problem.what.find(part) != std::string::npos) {
      return problem;
    }
  }
  return std::nullopt;
}

}  // namespace orrery::ingest::nsys
