#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/ingest/registry.h"

namespace orrery::ingest::execution_trace {

/// Reads an execution trace; a test that gets an error fails.
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

/// Returns how often problems were met whose text begins with `what`.
inline std::int64_t ProblemCount(const trace::Trace& trace, std::string_view what) {
  std::int64_t count = 0;
  for (const trace::Problem& problem : trace.problems.all()) {
    count += problem.what.starts_with(what) ? problem.count : 0;
  }
  return count;
}

}  // namespace orrery::ingest::execution_trace
