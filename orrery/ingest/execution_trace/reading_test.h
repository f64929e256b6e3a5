#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/ingest/reading_test.h"

namespace orrery::ingest::execution_trace {

/// Reads an execution trace; a test that gets an error fails.
inline trace::Trace ReadFile(const Result<InputFile>& file) {
  return ReadOneTrace(kFormat, file);
}

inline trace::Trace ReadText(std::string_view text) {
  return ReadFile(InputFile::FromMemory("memory", text));
}

inline trace::Trace ReadPath(const std::string& path) {
  return ReadFile(InputFile::Open(path));
}

/// Returns the row of the node with `id`.
inline RowId RowOf(const trace::Trace& trace, std::int64_t id) {
  const auto& ids = trace.graph_nodes.id;
  const auto found = std::find(ids.begin(), ids.end(), id);
  EXPECT_NE(found, ids.end()) << "no node " << id;
  return static_cast<RowId>(found - ids.begin());
}

}  // namespace orrery::ingest::execution_trace
