#include "orrery/compat/ccl_bench/step_markers.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::Trace;

// The number of "ProfilerStep#12", which must end there.
std::optional<std::int64_t> ProfilerStepNumber(std::string_view name) {
  constexpr std::string_view kMarker = "ProfilerStep#";
  const std::size_t at = name.find(kMarker);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  name.remove_prefix(at + kMarker.size());
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_whole = error == std::errc() && stop == name.data() + name.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

bool IsProfilerStep(std::string_view name) {
  return ProfilerStepNumber(name).has_value();
}

bool IsOldVllmStep(std::string_view name) {
  return name.starts_with("execute_context_");
}

bool IsSglangStep(std::string_view name) {
  return name.ends_with(": run_batch");
}

bool IsTpuStep(std::string_view name) {
  return name == "$core.py:331 step";
}

template <typename Table>
Steps StepsNamed(const Trace& trace, const Table& table, NameTest test) {
  NameMemo is_marker(trace, test);
  Steps steps;
  for (RowId row = 0; row < table.size(); ++row) {
    if (is_marker(table.name[row])) {
      steps.push_back({table.begin_ns[row], table.begin_ns[row] + table.duration_ns[row]});
    }
  }
  return steps;
}

}  // namespace

Steps ProfilerSteps(const Trace& trace) {
  NameMemo is_marker(trace, &IsProfilerStep);
  std::vector<std::pair<std::int64_t, Interval>> numbered;
  const trace::Annotations& ranges = trace.annotations;
  for (RowId row = 0; row < ranges.size(); ++row) {
    if (ranges.kind[row] == trace::AnnotationKind::kHost && is_marker(ranges.name[row])) {
      numbered.emplace_back(
          *ProfilerStepNumber(trace.Text(ranges.name[row])),
          Interval{ranges.begin_ns[row], ranges.begin_ns[row] + ranges.duration_ns[row]});
    }
  }
  std::ranges::stable_sort(numbered, {}, &std::pair<std::int64_t, Interval>::first);
  Steps steps;
  for (const auto& [number, time] : numbered) {
    steps.push_back(time);
  }
  return steps;
}

Steps EngineSteps(const Trace& trace) {
  Steps steps = StepsNamed(trace, trace.annotations, &IsOldVllmStep);
  return steps.empty() ? StepsNamed(trace, trace.python_calls, &IsSglangStep) : steps;
}

Steps XlaEngineSteps(const Trace& trace) {
  Steps steps = StepsNamed(trace, trace.annotations, &IsTpuStep);
  return steps.empty() ? StepsNamed(trace, trace.python_calls, &IsTpuStep) : steps;
}

Steps InnerSteps(Steps steps) {
  if (steps.size() > 2) {
    steps.erase(steps.begin());
    steps.pop_back();
  }
  return steps;
}

Steps InnerMarkedSteps(const Trace& trace) {
  Steps steps = ProfilerSteps(trace);
  return InnerSteps(steps.empty() ? EngineSteps(trace) : std::move(steps));
}

std::optional<double> MeanMicroseconds(const Steps& steps) {
  std::vector<double> durations_us;
  for (const Interval& step : steps) {
    durations_us.push_back(Microseconds(step.length_ns()));
  }
  return SequentialMean(durations_us);
}

}  // namespace orrery::compat::ccl_bench
