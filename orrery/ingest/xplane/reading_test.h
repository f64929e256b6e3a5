#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/ingest/reading_test.h"

namespace orrery::ingest::xplane {

/// Reads a recording; a test that gets an error fails.
inline trace::Trace ReadFile(const Result<InputFile>& file) {
  return ReadOneTrace(kFormat, file);
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

}  // namespace orrery::ingest::xplane
