#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/document/value.h"
#include "orrery/trace/trace_set.h"

/// The metrics of the ccl-bench suite exactly as the suite computes them, including its defects, so
/// that old tables can be continued. For decisions use the metrics of this program.
namespace orrery::compat::ccl_bench {

using analyze::AnalyzeOptions, analyze::Measurement;

/// The input of the suite: every file that was read, with the clocks of the files.
struct Run {
  const trace::TraceSet* set = nullptr;  // before clock alignment
  std::span<const Measurement> measurements = {};
  AnalyzeOptions options = {};  // link, direction, gpu, top, nccl_only
  double model_params = 7e9;    // for metrics that estimate tokens from FLOPs
};

struct MetricResult {
  std::optional<double> value = {};  // none: the suite prints NaN, or fails (then with a reason)
  std::string unit = {};
  std::string reason = {};  // continues "n/a: "
  bool is_missing = false;  // the value is the suite's placeholder for "unknown": -1, 0 or NaN
  Value detail = Value::Object();
};

/// Returns the 61 registered names in the suite's order, then the five NVLink names of its scripts.
[[nodiscard]] std::vector<std::string_view> MetricNames();

/// Computes a metric by name, ignoring case; a name that the suite does not have is n/a.
/// Linear in the events of the run.
[[nodiscard]] MetricResult ComputeMetric(std::string_view name, const Run& run);

}  // namespace orrery::compat::ccl_bench
