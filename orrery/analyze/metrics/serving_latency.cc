#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::serving_latency {
namespace {

// The first engine step with a prompt; without such names, the first step.
std::optional<double> FirstPrefillSeconds(const trace::Trace& trace) {
  for (RowId step = 0; step < trace.steps.size(); ++step) {
    const auto engine = ParseEngineStep(trace.Text(trace.steps.name[step]));
    if (!engine || engine->num_prompts > 0) {
      return static_cast<double>(trace.steps.duration_ns[step]) / 1e9;
    }
  }
  return std::nullopt;
}

MetricResult Ttft(const RunView& run) {
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

// Steps that only generate; without such names, all but the first and the last.
std::vector<double> DecodeSeconds(const trace::Trace& trace) {
  std::vector<double> known;
  std::vector<double> all;
  bool names_tell = false;
  for (RowId step = 0; step < trace.steps.size(); ++step) {
    const double seconds = static_cast<double>(trace.steps.duration_ns[step]) / 1e9;
    const auto engine = ParseEngineStep(trace.Text(trace.steps.name[step]));
    names_tell |= engine && engine->generated_tokens > 0;
    if (engine && engine->num_prompts == 0) {
      known.push_back(seconds);
    }
    all.push_back(seconds);
  }
  if (names_tell) {
    return known;
  }
  if (all.size() > 2) {
    return {all.begin() + 1, all.end() - 1};
  }
  return {all.begin() + std::min<std::ptrdiff_t>(1, std::ssize(all)), all.end()};
}

MetricResult Tpot(const RunView& run) {
  const Table* const serving = FindTable(run, "serving benchmark");
  if (serving != nullptr && serving->num_rows() > 0) {
    if (const auto median_ms = serving->Number(0, "median_tpot_ms")) {
      MetricResult result{.value = *median_ms / 1e3};
      result.detail.Set("source", "median over requests of the serving result");
      return result;
    }
  }
  if (const auto length = CardInteger(*run.set, "output_len"); length && *length <= 1) {
    return NotAvailable("the workload card has no usable output_len above 1");
  }
  std::vector<double> means;
  for (const trace::Trace& trace : run.set->ranks) {
    const std::vector<double> seconds = DecodeSeconds(trace);
    if (!seconds.empty()) {
      means.push_back(Mean(seconds));
    }
  }
  if (means.empty()) {
    return NotAvailable("no decode steps among the markers");
  }
  MetricResult result{.value = Mean(means)};
  result.detail.Set("estimated", true);
  result.detail.Set("source", "mean duration of pure decode steps, mean over ranks");
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "ttft",
       .meaning = "Time to first token",
       .unit = "s",
       .needs = {{NeedKind::kPhase}},
       .definition = "Median over requests of the serving result; else the duration of the first "
                     "engine step that contains prefill, mean over ranks",
       .compute = &Ttft,
       .aliases = {{.name = "ttft_group_6", .scale = 1e3, .unit = "ms"}},
       .better = Better::kLower},
      {.name = "tpot",
       .meaning = "Time per output token",
       .unit = "s",
       .needs = {{NeedKind::kPhase}},
       .definition = "Median over requests of the mean time between tokens (serving result); else "
                     "the mean duration of pure decode steps",
       .compute = &Tpot,
       .aliases = {{.name = "tpot_group_6", .scale = 1e3, .unit = "ms"}},
       .better = Better::kLower}};
}

}  // namespace orrery::analyze::serving_latency
