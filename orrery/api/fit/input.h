#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/base/error.h"

namespace orrery::api {

/// Fails where a request of a fit has no file to read.
[[nodiscard]] inline Status CheckPaths(const std::vector<std::string>& paths) {
  return paths.empty() ? Status(InvalidInput("paths: no file to read is named")) : Status();
}

/// Fails where a request of a fit has no file to write, before the long work.
[[nodiscard]] inline Status CheckOutput(const std::string& output) {
  return output.empty() ? Status(InvalidInput("output: no file to write is named")) : Status();
}

/// Adds to a result which measured rows were not used.
template <typename Measurements, typename FitResult>
void NoteRejected(const Measurements& data, FitResult& result) {
  if (data.rejected.empty()) {
    return;
  }
  result.rejected_rows = static_cast<std::int64_t>(data.rejected.size());
  result.notices.push_back(fmt::format("{} rows were not used:\n{}", data.rejected.size(),
                                       RejectedText(data.files, data.rejected)));
  result.is_partial = true;
}

}  // namespace orrery::api
