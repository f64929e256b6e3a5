#pragma once

#include <string>
#include <vector>


#include "orrery/base/error.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/run.h"

namespace orrery::cli {

/// The options of every verb that reads runs.
struct RunArguments {
  std::vector<std::string> paths;
  int threads = 0;
  double max_unpack_ratio = UnpackLimits{}.max_ratio;
  std::string step_marker;
};

/// Adds them to a verb; the paths are left to the verb.
void AddRunOptions(Verb& verb, RunArguments& arguments);

/// Reads the run with a progress line.
[[nodiscard]] Result<ingest::Run> ReadRunWithProgress(const RunArguments& arguments);

}  // namespace orrery::cli
