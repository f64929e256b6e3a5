#include "orrery/memory/overhead.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/statistics.h"
#include "orrery/memory/join/launch_match.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::OverheadPhase;
using trace::Trace;

// From first to last begin: recordings of accesses do not say when work ended.
std::int64_t SpanNs(const std::vector<std::int64_t>& begins_ns) {
  const auto [first, last] = std::ranges::minmax_element(begins_ns);
  return begins_ns.empty() ? 0 : *last - *first;
}

std::optional<PlainTime> IfKnown(const PlainTime& time) {
  return time.recorded_ns > 0 && time.plain_ns > 0 ? std::optional(time) : std::nullopt;
}

PlainTime StepTime(std::int64_t plain_ns, std::int64_t recorded_ns, const Trace& recording) {
  return {.piece = TimedPiece::kStep,
          .recorded_ns = recorded_ns,
          .plain_ns = plain_ns,
          .num_pieces = static_cast<std::int64_t>(recording.steps.size()),
          .has_first_step = recording.steps.size() == 1};
}

}  // namespace

std::string_view OverheadPhaseName(OverheadPhase phase) {
  constexpr std::array<std::string_view, kNumOverheadParts + 1> kNames{
      "execution", "collection", "transfer", "analysis", "waiting", "total"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::int64_t OverheadSummary::SumOfParts() const {
  std::int64_t sum = 0;
  for (const OverheadPart& part : parts) {
    sum += part.total_ns;
  }
  return sum;
}

std::int64_t OverheadSummary::RestNs() const {
  return total_ns ? *total_ns - SumOfParts() : 0;
}

bool OverheadSummary::Agrees(double tolerance_percent) const {
  const double limit = tolerance_percent / 100 * static_cast<double>(WholeNs());
  return std::abs(static_cast<double>(RestNs())) <= limit;
}

std::optional<std::int64_t> RecordedStepNs(const trace::Trace& trace) {
  const std::vector<std::int64_t>& durations = trace.steps.duration_ns;
  if (durations.empty()) {
    return std::nullopt;
  }
  const std::vector<double> later(durations.begin() + (durations.size() > 1 ? 1 : 0),
                                  durations.end());
  return static_cast<std::int64_t>(Median(later));
}

OverheadSummary OverheadOf(const trace::Trace& trace) {
  OverheadSummary summary;
  const trace::Overheads& rows = trace.overheads;
  for (RowId row = 0; row < rows.size(); ++row) {
    if (rows.phase[row] == OverheadPhase::kTotal) {
      summary.total_ns = summary.total_ns.value_or(0) + rows.total_ns[row];
      continue;
    }
    OverheadPart& part = summary.parts[static_cast<std::size_t>(rows.phase[row])];
    part.total_ns += rows.total_ns[row];
    part.count += rows.count[row];
    part.bytes += rows.bytes[row];
  }
  return summary;
}

std::optional<PlainTime> PlainTimeFrom(const Trace& plain, const Trace& recording) {
  const auto recorded_step_ns = RecordedStepNs(recording);
  const auto plain_step_ns = RecordedStepNs(plain);
  if (recorded_step_ns && plain_step_ns) {
    PlainTime time = StepTime(*plain_step_ns, *recorded_step_ns, recording);
    time.has_first_step = time.has_first_step || plain.steps.size() == 1;
    return IfKnown(time);
  }
  const LaunchMatch match = MatchLaunches(recording, plain);
  std::vector<std::int64_t> recorded_ns;
  std::vector<std::int64_t> plain_ns;
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    if (match.partners[row] != kNoRow) {
      recorded_ns.push_back(recording.activities.begin_ns[row]);
      plain_ns.push_back(plain.activities.begin_ns[match.partners[row]]);
    }
  }
  return IfKnown({.piece = TimedPiece::kLaunches,
                  .recorded_ns = SpanNs(recorded_ns),
                  .plain_ns = SpanNs(plain_ns)});
}

std::optional<PlainTime> PlainTimeFrom(std::int64_t plain_ns, const Trace& recording) {
  if (const auto step_ns = RecordedStepNs(recording)) {
    return IfKnown(StepTime(plain_ns, *step_ns, recording));
  }
  return IfKnown({.piece = TimedPiece::kLaunches,
                  .recorded_ns = SpanNs(recording.activities.begin_ns),
                  .plain_ns = plain_ns});
}

std::array<std::int64_t, kNumOverheadParts> PartsOfPiece(const OverheadSummary& overhead,
                                                         const PlainTime& time) {
  std::array<std::int64_t, kNumOverheadParts> parts{};
  std::int64_t rest_ns = time.recorded_ns;
  for (std::size_t part = 0; part < kNumOverheadParts; ++part) {
    const auto phase = static_cast<OverheadPhase>(part);
    if (phase != OverheadPhase::kCollection) {
      parts[part] = phase == OverheadPhase::kExecution
                        ? time.plain_ns
                        : overhead.parts[part].total_ns / time.num_pieces;
      rest_ns -= parts[part];
    }
  }
  parts[static_cast<std::size_t>(OverheadPhase::kCollection)] = std::max<std::int64_t>(rest_ns, 0);
  return parts;
}

}  // namespace orrery::memory
