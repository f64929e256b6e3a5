#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/diff/diff.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/report/document.h"

namespace orrery::cli {

/// A comparison of two runs.
struct DiffPage {
  std::string path_before;
  std::string path_after;
  analyze::diff::RunDiff diff;
  std::optional<double> limit_percent = {};        // --fail-over
  std::vector<analyze::diff::MetricChange> worse;  // over the limit, the worst first
};

/// A headline, the parts of a step's time, and what changed most. Its CSV has one line for each
/// thing that was compared; JSON: docs/formats/diff-json.md.
[[nodiscard]] report::Document DiffDocument(const DiffPage& page);

/// The JSON of the document.
[[nodiscard]] Value DiffData(const DiffPage& page);

/// The table of --csv.
[[nodiscard]] Table DiffTable(const DiffPage& page);

/// One sentence on the worst metric, for a log: what, by how much, from what to what.
[[nodiscard]] std::string WorstText(const DiffPage& page);

}  // namespace orrery::cli
