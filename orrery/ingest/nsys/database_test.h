#pragma once

#include <optional>
#include <string_view>

#include "orrery/ingest/database_test.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::nsys {

inline Result<FileContent> ReadBytes(std::string_view bytes) {
  ORRERY_TRY(const InputFile file, InputFile::FromMemory("run.sqlite", bytes));
  return kFormat.Read(file, {});
}

inline bool MatchesBytes(std::string_view bytes) {
  const auto file = InputFile::FromMemory("run.sqlite", bytes);
  return file && kFormat.matches(*file);
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
