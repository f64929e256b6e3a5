#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/report/document.h"
#include "orrery/serve/answers/answers.h"

namespace orrery::cli {

struct ViewArguments {
  std::vector<std::string> paths;
  RunArguments run;
  JobArguments job;
  std::string listen = "127.0.0.1";
  int port = 0;
  bool stays_closed = false;     // no browser is opened
  std::string export_file = {};  // instead of serving
};

/// The runs that are open, and the actions of the page beside reading.
struct OpenedRuns {
  serve::RunList runs = {};
  serve::ViewActions actions = {};
  std::optional<report::Document> plans = {};  // of a store of `search`
};

/// Reads what the paths name, one run each: a recording, a job that is simulated, or the best plan
/// of a store of `search`.
[[nodiscard]] Result<OpenedRuns> OpenRuns(const ViewArguments& arguments);

/// The documents of the tools of `orrery memory` for a recorded run, of each whose needs it meets.
[[nodiscard]] std::vector<report::Document> MemoryDocuments(const serve::ViewedRun& run);

}  // namespace orrery::cli
