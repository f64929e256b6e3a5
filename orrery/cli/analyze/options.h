#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/run.h"

namespace orrery::cli {

// Options shared by verbs that analyse runs.

/// The part of a run that is analysed.
struct Selection {
  analyze::AnalyzeOptions options;
  std::string steps;                      // as given; see ReadSelection
  std::vector<std::string> what_if = {};  // as given
  std::int64_t launch_gap_us = 30;
};

/// Adds --steps, --rank, --min-bytes, --align and --launch-gap-us to a verb.
void AddSelectionOptions(Verb& verb, Selection& selection);

/// Puts what was given as text into the options.
[[nodiscard]] Status ReadSelection(Selection& selection);

/// Fails if the run has none of the steps, a rank or a kernel that the selection names; the error
/// says what there is.
[[nodiscard]] Status CheckSelection(const Selection& selection, const ingest::Run& run);

/// Fails if the selected ranks did nothing on a GPU and no table comes with them.
[[nodiscard]] Status CheckGpuWork(const Selection& selection, const ingest::Run& run,
                                  const std::string& path);

/// Returns the metrics of these names, all when there is no name.
[[nodiscard]] Result<std::vector<analyze::NamedMetric>> ChosenMetrics(
    const std::vector<std::string>& names);

/// Prepares a run for the metrics; it must outlive the view.
[[nodiscard]] analyze::RunView ViewOf(const RunToAnalyze& read,
                                      const analyze::AnalyzeOptions& options);

/// Reads what `--what-if` is given: "network=4", "kernel:NAME=2", "rank:3".
[[nodiscard]] Result<analyze::WhatIfQuestion> ParseWhatIf(const std::string& text);

}  // namespace orrery::cli
