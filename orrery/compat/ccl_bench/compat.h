#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/value.h"
#include "orrery/trace/trace_set.h"

/// The metrics of the ccl-bench suite exactly as that suite computes them, defects included, so
/// that old tables can be continued. For numbers to act on use the metrics of this program.
namespace orrery::compat::ccl_bench {

using analyze::AnalyzeOptions;
using analyze::Measurement;

/// What the suite looks at: every file that was read, on the clocks of the files.
struct CompatRun {
  const trace::TraceSet* set = nullptr;  // before clocks are aligned
  std::span<const Measurement> measurements = {};
  AnalyzeOptions options = {};  // link, direction, gpu, top, nccl_only
  double model_params = 7e9;    // of the metrics that guess tokens from FLOPs
};

struct CompatResult {
  std::optional<double> value = {};  // none: the suite says NaN, or fails (then with a reason)
  std::string unit = {};
  std::string reason = {};  // goes on from "n/a: "
  bool is_missing = false;  // the value is the suite's stand-in for "unknown": -1, 0 or NaN
  Value detail = Value::Object();
};

/// Returns the 61 registered names in the suite's order, then the five NVLink names of its scripts.
[[nodiscard]] std::vector<std::string_view> AllCompatNames();

/// Computes a metric by name, without regard to case; a name the suite does not have is n/a.
/// Linear in the events of the run.
[[nodiscard]] CompatResult ComputeCompat(std::string_view name, const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
