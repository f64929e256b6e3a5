#pragma once

#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/diff/diff.h"

namespace orrery::cli {

/// A comparison as it is shown.
struct DiffPage {
  std::string path_before;
  std::string path_after;
  analyze::diff::RunDiff diff;
  std::optional<double> limit_percent = {};        // --fail-over
  std::vector<analyze::diff::MetricChange> worse;  // over the limit, the worst first
};

/// For people: a headline, where the time of a step went, and what changed most.
[[nodiscard]] std::string DiffText(const DiffPage& page);

/// The JSON document of `orrery diff --json`; its keys are in docs/formats/diff-json.md.
[[nodiscard]] std::string DiffJson(const DiffPage& page);

/// One line for each thing that was compared, with its section.
[[nodiscard]] std::string DiffCsv(const DiffPage& page);

/// One sentence on the worst metric, for a log: what, by how much, from what to what.
[[nodiscard]] std::string WorstText(const DiffPage& page);

}  // namespace orrery::cli
