#include <optional>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/tokens.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::ttft {
namespace {

// The first engine step with a prompt; where names do not tell, the first step.
std::optional<double> FirstPrefillSeconds(const trace::Trace& trace) {
  for (RowId step = 0; step < trace.steps.size(); ++step) {
    const auto engine = ParseEngineStep(trace.Text(trace.steps.name[step]));
    if (!engine || engine->num_prompts > 0) {
      return static_cast<double>(trace.steps.duration_ns[step]) / 1e9;
    }
  }
  return std::nullopt;
}

MetricResult Compute(const RunView& run) {
  const Table* const serving = FindTable(run, "serving benchmark");
  if (serving != nullptr && serving->num_rows() > 0) {
    if (const auto median_ms = serving->Number(0, "median_ttft_ms")) {
      MetricResult result{.value = *median_ms / 1e3};
      result.detail.Set("source", "median over requests of the serving result");
      return result;
    }
  }
  std::vector<double> seconds;
  for (const trace::Trace& trace : run.set->ranks) {
    if (const auto first = FirstPrefillSeconds(trace)) {
      seconds.push_back(*first);
    }
  }
  if (seconds.empty()) {
    return NotAvailable(kNoStepsReason);
  }
  MetricResult result{.value = Mean(seconds)};
  result.detail.Set("estimated", true);
  result.detail.Set("source", "first engine step with a prompt, mean over ranks");
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "ttft",
           .meaning = "Time to first token",
           .unit = "s",
           .needs = {{NeedKind::kPhase}},
           .definition =
               "Median over requests of the serving result; else the duration of the first "
               "engine step that contains prefill, mean over ranks",
           .compute = &Compute,
           .aliases = {{.name = "ttft_group_6", .scale = 1e3, .unit = "ms"}},
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::ttft
