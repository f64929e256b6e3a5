#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

using NameTest = std::function<bool(std::string_view)>;

// "iteration12", "iteration 12", "train step 12", "step 12": the word, an optional space, digits.
bool IsNumbered(std::string_view name, std::string_view word) {
  if (!name.starts_with(word)) {
    return false;
  }
  name.remove_prefix(word.size());
  if (name.starts_with(' ') || name.starts_with('_') || name.starts_with('#')) {
    name.remove_prefix(1);
  }
  return !name.empty() && std::all_of(name.begin(), name.end(), IsDigit);
}

bool IsProfilerStep(std::string_view name) {
  return name.starts_with("ProfilerStep#") && name.size() > 13 && IsDigit(name[13]);
}

bool IsServingStep(std::string_view name) {
  return name.starts_with("execute_context_") ||
         (name.starts_with("execute_") && name.size() > 8 && IsDigit(name[8]) &&
          name.find("_context_") != std::string_view::npos);
}

bool IsIteration(std::string_view name) {
  constexpr std::array<std::string_view, 6> kWords{"iteration",     "Iteration", "train step",
                                                   "training step", "step",      "Step"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return IsNumbered(name, word); });
}

// The number in a marker: its last run of digits, as in "ProfilerStep#12" and "iteration 12".
std::int64_t NumberIn(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !IsDigit(name[end - 1])) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && IsDigit(name[begin - 1])) {
    --begin;
  }
  std::int64_t number = -1;
  std::from_chars(name.data() + begin, name.data() + end, number);
  return number;
}

void AppendStep(Trace& trace, RowId annotation) {
  const Annotations& ranges = trace.annotations;
  trace.steps.Append({.begin_ns = ranges.begin_ns[annotation],
                      .duration_ns = ranges.duration_ns[annotation],
                      .name = ranges.name[annotation],
                      .number = NumberIn(trace.Text(ranges.name[annotation])),
                      .annotation = annotation});
}

void TakeAnnotations(Trace& trace, const NameTest& test) {
  PerName is_marker(trace, test);
  const Annotations& ranges = trace.annotations;
  for (RowId row = 0; row < ranges.size(); ++row) {
    if (ranges.kind[row] == AnnotationKind::kHost && is_marker(ranges.name[row])) {
      AppendStep(trace, row);
    }
  }
}

// XLA has a line of steps for each device; those of the first one count.
void TakeStepLine(Trace& trace) {
  const Annotations& ranges = trace.annotations;
  const StringId line = trace.strings.Find("Steps");
  RowId chosen = kNoRow;
  for (const RowId track : ranges.track) {
    if (track != kNoRow && track < chosen && line != StringId::kEmpty &&
        trace.tracks.name[track] == line && trace.tracks.kind[track] == TrackKind::kDevice) {
      chosen = track;
    }
  }
  for (RowId row = 0; chosen != kNoRow && row < ranges.size(); ++row) {
    if (ranges.track[row] == chosen) {
      AppendStep(trace, row);
    }
  }
}

// XLA also marks short ranges that are not steps.
void DropShortSteps(Trace& trace) {
  const auto& durations = trace.steps.duration_ns;
  const auto longest = std::max_element(durations.begin(), durations.end());
  std::vector<RowId> kept;
  for (RowId row = 0; row < trace.steps.size(); ++row) {
    if (durations[row] > *longest / 10) {
      kept.push_back(row);
    }
  }
  PermuteRows(trace.steps, kept);
}

// Markers whose names carry no number of the step.
void CountSteps(Trace& trace) {
  for (RowId row = 0; row < trace.steps.size(); ++row) {
    trace.steps.number[row] = row;
  }
}

// Steps of tables whose names may carry no number count up.
template <typename Table>
void TakeSlices(Trace& trace, const Table& table, const NameTest& test) {
  PerName is_marker(trace, test);
  for (RowId row = 0; row < table.size(); ++row) {
    if (is_marker(table.name[row])) {
      trace.steps.Append({.begin_ns = table.begin_ns[row],
                          .duration_ns = table.duration_ns[row],
                          .name = table.name[row],
                          .number = IsProfilerStep(trace.Text(table.name[row]))
                                        ? NumberIn(trace.Text(table.name[row]))
                                        : static_cast<std::int64_t>(trace.steps.size())});
    }
  }
}

void FindMarkedSteps(Trace& trace, const std::string& marker) {
  const RE2 expression(marker, RE2::Quiet);
  const NameTest matches = [&](std::string_view name) {
    return RE2::PartialMatch(name, expression);
  };
  TakeAnnotations(trace, matches);
  if (trace.steps.empty()) {
    TakeSlices(trace, trace.host_ops, matches);
  }
  if (trace.steps.empty()) {
    TakeSlices(trace, trace.python_calls, matches);
  }
}

}  // namespace

void FindSteps(Trace& trace, const std::string& marker) {
  trace.steps = {};
  if (!marker.empty()) {
    FindMarkedSteps(trace, marker);
    return;
  }
  const std::array<std::function<void()>, 8> families{
      [&] { TakeAnnotations(trace, IsProfilerStep); },
      // Files of 2021 have no category of their own for annotations.
      [&] { TakeSlices(trace, trace.host_ops, IsProfilerStep); },
      [&] { TakeAnnotations(trace, IsServingStep); },
      [&] {
        TakeSlices(trace, trace.python_calls,
                   [](std::string_view name) { return name.ends_with(": run_batch"); });
      },
      [&] { TakeAnnotations(trace, IsIteration); },
      [&] { TakeStepLine(trace); },
      // vLLM on XLA: the Python function of the engine, with its line.
      [&] {
        TakeAnnotations(trace, [](std::string_view name) {
          return name.starts_with("$core.py:") && name.ends_with(" step");
        });
        CountSteps(trace);
      },
      [&] {
        TakeAnnotations(trace, [](std::string_view name) { return name == "StepMarker"; });
        DropShortSteps(trace);
        CountSteps(trace);
      },
  };
  for (const auto& take : families) {
    take();
    if (!trace.steps.empty()) {
      return;
    }
  }
}

Status CheckStepMarker(const std::string& marker) {
  const RE2 expression(marker, RE2::Quiet);
  if (!expression.ok()) {
    return Invalid("--step-marker is not a regular expression of RE2: {}", expression.error());
  }
  return {};
}

}  // namespace orrery::trace
