#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/ingest/registry.h"

namespace orrery::ingest::xplane {

/// Reads a recording; a test that gets an error fails.
inline trace::Trace ReadFile(const Result<InputFile>& file) {
  if (!file) {
    ADD_FAILURE() << file.error().message();
    return {};
  }
  EXPECT_TRUE(kFormat.matches(*file)) << file->path();
  auto content = kFormat.Read(*file, {});
  if (!content || content->traces.size() != 1) {
    ADD_FAILURE() << (content ? "not one trace" : content.error().message());
    return {};
  }
  return std::move(content->traces[0]);
}

inline trace::Trace ReadBytes(const std::string& bytes) {
  return ReadFile(InputFile::FromMemory("t.xplane.pb", bytes));
}

/// Returns the rows of activities with this name, in order of time.
inline std::vector<RowId> RowsNamed(const trace::Trace& trace, std::string_view name) {
  std::vector<RowId> rows;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    if (trace.Text(trace.activities.name[row]) == name) {
      rows.push_back(row);
    }
  }
  return rows;
}

/// Returns how often problems were met whose text begins with `what`.
inline std::int64_t ProblemCount(const trace::Trace& trace, std::string_view what) {
  std::int64_t count = 0;
  for (const trace::Problem& problem : trace.problems.all()) {
    count += problem.what.starts_with(what) ? problem.count : 0;
  }
  return count;
}

}  // namespace orrery::ingest::xplane
