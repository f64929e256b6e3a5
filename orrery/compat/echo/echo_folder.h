#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::compat::echo {

/// The files of one job that Echo's tracer wrote.
struct EchoFolder {
  std::vector<std::string> graphs;  // forward, backward, ddp
  std::vector<std::string> times;   // of all operators, or forward and backward
};

/// Finds them in a folder and below it. Fails when some are missing, or are there for several jobs.
[[nodiscard]] Result<EchoFolder> FindEchoFiles(const std::string& folder);

}  // namespace orrery::compat::echo
