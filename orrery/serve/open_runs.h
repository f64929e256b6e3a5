#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"
#include "orrery/serve/answers/answers.h"

namespace orrery::serve {

struct OpenRequest {
  std::vector<std::string> paths = {};
  api::RunInput run = {};  // options of reading; its paths are not used
  api::JobInput job = {};
  api::CallOptions call = {};
};

/// The runs that are open, and the actions of the page beside reading.
struct OpenedRuns {
  RunList runs = {};
  ViewActions actions = {};
  std::optional<report::Document> plans = {};  // of a store of `search`
};

/// Reads what the paths name, one run each: a recording, a job that is simulated, or the best plan
/// of a store of `search`. Actions use the session, which must outlive them.
[[nodiscard]] Result<OpenedRuns> OpenRuns(const api::Session& session, const OpenRequest& request);

/// The documents of the tools of `orrery memory` for a recorded run, of each whose needs it meets.
[[nodiscard]] std::vector<report::Document> MemoryDocuments(const ViewedRun& run);

/// A sentence for each run that has no collective in common with the first one.
[[nodiscard]] std::vector<std::string> RunsWithNothingInCommon(const RunList& runs);

}  // namespace orrery::serve
