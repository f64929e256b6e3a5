#pragma once

#include <string>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/cli/analyze/output.h"
#include "orrery/report/run_report.h"

namespace orrery::cli {

/// Gathers the report of a run; its title is the name of the first path.
[[nodiscard]] report::RunReport ReportOf(const analyze::RunView& run,
                                         const std::vector<NamedResult>& results,
                                         const std::vector<std::string>& paths);

/// Writes the page of `orrery analyze --html FILE`.
[[nodiscard]] Status WriteHtmlReport(const report::RunReport& page, const std::string& file);

/// Writes the page of `orrery analyze --nvlink-report FILE`; fails when the run has no counters.
[[nodiscard]] Status WriteNvlinkReport(const analyze::RunView& run,
                                       const std::vector<std::string>& paths,
                                       const std::string& file);

}  // namespace orrery::cli
