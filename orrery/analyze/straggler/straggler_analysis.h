#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::analyze {

/// The cost of stragglers in a run, and the assumptions behind it.
struct StragglerAnalysis {
  StragglerSlowdown slowdown;
  std::vector<std::string> assumptions;  // sentences
};

/// Returns what stragglers cost a run made by ViewRun: of its timeline of operations if it has one,
/// else of its recorded ranks. Worked out on first use. An error is the reason why it cannot be
/// said, in words that follow "n/a: ".
[[nodiscard]] const Result<StragglerAnalysis>& StragglersOf(const RunView& run);

/// Returns the object `straggler` of `orrery analyze --json`: docs/formats/answers/analyze.md.
[[nodiscard]] Value StragglerData(const Result<StragglerAnalysis>& analysis);

/// Keeps what StragglersOf returns. Thread-safe.
class StragglerHolder {
 public:
  [[nodiscard]] const Result<StragglerAnalysis>& Get(const RunView& run);

 private:
  std::once_flag made_;
  std::optional<Result<StragglerAnalysis>> analysis_;
};

}  // namespace orrery::analyze
