#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/serve/answers/answers.h"
#include "orrery/serve/viewed_run.h"

namespace orrery::cli {

struct ViewArguments {
  std::vector<std::string> paths;
  RunArguments run;
  JobArguments job;
  std::string listen = "127.0.0.1";
  int port = 0;
  bool stays_closed = false;  // no browser is opened
};

/// Reads what the paths name, one run each: a recording, or a job that is simulated.
[[nodiscard]] Result<serve::RunList> OpenRuns(const ViewArguments& arguments);

/// What the page can ask for beside reading.
[[nodiscard]] serve::ViewActions ActionsFor(const ViewArguments& arguments);

}  // namespace orrery::cli
