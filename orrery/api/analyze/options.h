#pragma once

#include <string>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/api/input/run_selection.h"
#include "orrery/api/input/shared_run.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/speedup.h"

namespace orrery::api {

// For verbs that analyze runs.

/// The options of a selection; on that many threads.
[[nodiscard]] Result<analyze::AnalyzeOptions> OptionsOf(const RunSelection& selection, int threads);

/// Fails if the run lacks the steps, a rank or a kernel that the options name; the error says what
/// there is.
[[nodiscard]] Status CheckSelection(const RunSelection& selection,
                                    const analyze::AnalyzeOptions& options, const ingest::Run& run);

/// Fails if the selected ranks did nothing on a GPU and no table comes with them.
[[nodiscard]] Status CheckGpuWork(const analyze::AnalyzeOptions& options, const ingest::Run& run,
                                  const std::string& path);

/// Returns the metrics of these names, all when there is no name.
[[nodiscard]] Result<std::vector<analyze::NamedMetric>> ChosenMetrics(
    const std::vector<std::string>& names);

/// Prepares a run for the metrics; it must outlive the view.
[[nodiscard]] analyze::RunView ViewOf(const SharedRun& read,
                                      const analyze::AnalyzeOptions& options);

/// Reads the text of a what-if question: "network=4", "kernel:NAME=2", "rank:3".
[[nodiscard]] Result<trace::Speedup> ParseWhatIf(const std::string& text);

}  // namespace orrery::api
