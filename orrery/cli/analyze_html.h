#pragma once

#include <string>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/cli/analyze_output.h"

namespace orrery::cli {

/// Writes the page of `orrery analyze --html FILE`. Its title is the name of the first path.
[[nodiscard]] Status WriteHtmlReport(const analyze::RunView& run,
                                     const std::vector<NamedResult>& results,
                                     const std::vector<std::string>& paths,
                                     const std::string& file);

}  // namespace orrery::cli
