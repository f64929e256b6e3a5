#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/ingest/registry.h"

namespace orrery::ingest {

/// Reads a file that gives one trace; a test that gets an error fails.
inline trace::Trace ReadOneTrace(const Format& format, const Result<InputFile>& file) {
  if (!file) {
    ADD_FAILURE() << file.error().message();
    return {};
  }
  EXPECT_TRUE(format.matches(*file)) << file->path();
  auto content = format.Read(*file, {});
  if (!content || content->traces.size() != 1) {
    ADD_FAILURE() << (content ? "not one trace" : content.error().message());
    return {};
  }
  return std::move(content->traces[0]);
}

/// Returns how often problems occurred whose text begins with `what`.
inline std::int64_t ProblemCount(const trace::Trace& trace, std::string_view what) {
  std::int64_t count = 0;
  for (const trace::Problem& problem : trace.problems.all()) {
    count += problem.what.starts_with(what) ? problem.count : 0;
  }
  return count;
}

}  // namespace orrery::ingest
