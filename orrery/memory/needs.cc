#include "orrery/memory/needs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/memory/coverage.h"

namespace orrery::memory {
namespace {

using trace::ActivityKind;
using trace::CoverageKind;
using trace::RowId;
using trace::Trace;

bool HasKernels(const Trace& trace) {
  return std::ranges::count(trace.activities.kind, ActivityKind::kKernel) > 0;
}

// Copies and sets always say what they touch; that alone is no sight of kernels.
bool HasKernelTouches(const Trace& trace) {
  return std::ranges::any_of(trace.touches.activity, [&](RowId activity) {
    return activity != trace::kNoRow && trace.activities.kind[activity] == ActivityKind::kKernel;
  });
}

bool HasKernelTimes(const Trace& trace) {
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    if (trace.activities.kind[row] == ActivityKind::kKernel &&
        trace.activities.duration_ns[row] > 0) {
      return true;
    }
  }
  return false;
}

bool IsMet(Need need, const Trace& trace) {
  switch (need) {
    case Need::kKernels:
      return !trace.activities.empty();
    case Need::kKernelTimes:
      return HasKernelTimes(trace);
    case Need::kObjects:
      return !trace.memory_objects.empty();
    case Need::kMemoryEvents:
      return !trace.memory_events.empty() || !trace.memory_objects.empty();
    case Need::kTouches:
      return HasKernelTouches(trace) || !HasKernels(trace);
    case Need::kPages:
      return !trace.page_runs.empty() || !HasKernels(trace);
    case Need::kAccesses:
      return !trace.accesses.empty() || !HasKernels(trace);
    case Need::kOverheads:
      return !trace.overheads.empty();
  }
  return false;
}

bool SaysWhatIsMissing(CoverageKind kind) {
  return kind != CoverageKind::kInstructionPatched && kind != CoverageKind::kOther;
}

// What the recorder says it left out, else how the launches were seen.
std::string RecordersReason(const Trace& trace) {
  std::string reason;
  for (RowId row = 0; row < trace.coverage_counts.size(); ++row) {
    const CoverageKind kind = trace.coverage_counts.kind[row];
    if (SaysWhatIsMissing(kind)) {
      const std::string_view name = trace.Text(trace.coverage_counts.name[row]);
      reason +=
          fmt::format("{}{} {}{}", reason.empty() ? "" : ", ", trace.coverage_counts.count[row],
                      CoverageKindName(kind), name.empty() ? "" : fmt::format(": {}", name));
    }
  }
  if (reason.empty() && !trace.observations.empty()) {
    return CoverageLine(CoverageOf(trace));
  }
  return reason.empty() ? fmt::format("no such rows in {}", trace.info.format) : reason;
}

}  // namespace

std::string_view NeedName(Need need) {
  switch (need) {
    case Need::kKernels:
      return "device work";
    case Need::kKernelTimes:
      return "times of kernels";
    case Need::kObjects:
      return "memory objects";
    case Need::kMemoryEvents:
      return "allocations and frees";
    case Need::kTouches:
      return "what kernels touch";
    case Need::kPages:
      return "pages that kernels touch";
    case Need::kAccesses:
      return "single accesses";
    case Need::kOverheads:
      return "costs of the recording";
  }
  return "";
}

bool IsEmpty(const Trace& trace) {
  return trace.activities.empty() && trace.memory_objects.empty() && trace.memory_events.empty();
}

std::optional<std::string> WhyUnmet(Need need, const Trace& trace) {
  if (IsEmpty(trace) || IsMet(need, trace)) {
    return std::nullopt;
  }
  return fmt::format("not recorded: {} ({})", NeedName(need), RecordersReason(trace));
}

Status CheckNeeds(std::span<const Need> needs, const Trace& trace) {
  for (const Need need : needs) {
    if (auto reason = WhyUnmet(need, trace)) {
      return Fail(Error::Kind::kNotFound, *std::move(reason));
    }
  }
  return {};
}

}  // namespace orrery::memory
