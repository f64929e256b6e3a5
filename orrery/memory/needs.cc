#include "orrery/memory/needs.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace orrery::memory {
namespace {

using trace::ActivityKind;
using trace::CoverageKind;
using trace::Trace;

// Copies and sets always say what they touch; that alone is no sight of kernels.
bool HasKernelTouches(const Trace& trace) {
  return std::ranges::any_of(trace.touches.activity, [&](RowId activity) {
    return activity != kNoRow && trace.activities.kind[activity] == ActivityKind::kKernel;
  });
}

bool SaysWhatIsMissing(CoverageKind kind) {
  return kind != CoverageKind::kInstructionPatched && kind != CoverageKind::kOther;
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

void RecordedParts::Add(const Trace& piece) {
  coverage_ += CoverageOf(piece);
  if (format_.empty()) {
    format_ = piece.info.format;
  }
  has_work_ = has_work_ || !piece.activities.empty();
  has_objects_ = has_objects_ || !piece.memory_objects.empty();
  has_memory_events_ = has_memory_events_ || !piece.memory_events.empty();
  has_observations_ = has_observations_ || !piece.observations.empty();
  has_pages_ = has_pages_ || !piece.page_runs.empty();
  has_accesses_ = has_accesses_ || !piece.accesses.empty();
  has_overheads_ = has_overheads_ || !piece.overheads.empty();
  has_kernel_touches_ = has_kernel_touches_ || HasKernelTouches(piece);
  AddKernels(piece);
  AddReasons(piece);
}

void RecordedParts::AddKernels(const Trace& piece) {
  for (RowId row = 0; row < piece.activities.size() && !has_kernel_times_; ++row) {
    const bool is_kernel = piece.activities.kind[row] == ActivityKind::kKernel;
    has_kernels_ = has_kernels_ || is_kernel;
    has_kernel_times_ = is_kernel && piece.activities.duration_ns[row] > 0;
  }
}

void RecordedParts::AddReasons(const Trace& piece) {
  for (RowId row = 0; row < piece.coverage_counts.size(); ++row) {
    const CoverageKind kind = piece.coverage_counts.kind[row];
    if (SaysWhatIsMissing(kind)) {
      const std::string_view name = piece.Text(piece.coverage_counts.name[row]);
      reasons_ +=
          fmt::format("{}{} {}{}", reasons_.empty() ? "" : ", ", piece.coverage_counts.count[row],
                      CoverageKindName(kind), name.empty() ? "" : fmt::format(": {}", name));
    }
  }
}

bool RecordedParts::IsMet(Need need) const {
  switch (need) {
    case Need::kKernels:
      return has_work_;
    case Need::kKernelTimes:
      return has_kernel_times_;
    case Need::kObjects:
      return has_objects_;
    case Need::kMemoryEvents:
      return has_memory_events_ || has_objects_;
    case Need::kTouches:
      return has_kernel_touches_ || !has_kernels_;
    case Need::kPages:
      return has_pages_ || !has_kernels_;
    case Need::kAccesses:
      return has_accesses_ || !has_kernels_;
    case Need::kOverheads:
      return has_overheads_;
  }
  return false;
}

// What the recorder says it left out, else how the launches were seen.
std::string RecordedParts::RecordersReason() const {
  if (!reasons_.empty()) {
    return reasons_;
  }
  return has_observations_ ? CoverageLine(coverage_) : fmt::format("no such rows in {}", format_);
}

std::optional<std::string> RecordedParts::WhyUnmet(Need need) const {
  const bool is_empty = !has_work_ && !has_objects_ && !has_memory_events_;
  if (is_empty || IsMet(need)) {
    return std::nullopt;
  }
  return fmt::format("not recorded: {} ({})", NeedName(need), RecordersReason());
}

Status RecordedParts::Check(std::span<const Need> needs) const {
  for (const Need need : needs) {
    if (auto reason = WhyUnmet(need)) {
      return Fail(Error::Kind::kNotFound, *std::move(reason));
    }
  }
  return {};
}

std::optional<std::string> WhyUnmet(Need need, const Trace& trace) {
  RecordedParts parts;
  parts.Add(trace);
  return parts.WhyUnmet(need);
}

Status CheckNeeds(std::span<const Need> needs, const Trace& trace) {
  RecordedParts parts;
  parts.Add(trace);
  return parts.Check(needs);
}

}  // namespace orrery::memory
