#pragma once

#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_source.h"

namespace orrery::ingest {
struct Run;
}  // namespace orrery::ingest

namespace orrery::api {

/// A run to read: files or a folder, and how.
struct RunInput {
  std::vector<std::string> paths = {};
  int threads = 0;  // 0: one for each core
  double max_unpack_ratio = UnpackLimits{}.max_ratio;
  std::string step_marker = {};  // regular expression of RE2 for names of ranges that are steps
};

/// Returns true if a file is a recording of a known format, or the manifest of several.
[[nodiscard]] bool IsRecording(const std::string& path);

[[nodiscard]] Result<ingest::Run> ReadRun(const RunInput& input, const Progress& progress = {});

}  // namespace orrery::api
