#include "orrery/memory/join/plain_time.h"

#include <algorithm>

#include "orrery/memory/join/launch_match.h"

namespace orrery::memory {
namespace {

using trace::OverheadPhase;
using trace::Trace;

// From begin to begin: recordings of accesses do not say when work ended.
class BeginSpan {
 public:
  void Add(std::int64_t begin_ns) {
    first_ns_ = is_empty_ ? begin_ns : std::min(first_ns_, begin_ns);
    last_ns_ = is_empty_ ? begin_ns : std::max(last_ns_, begin_ns);
    is_empty_ = false;
  }

  [[nodiscard]] std::int64_t length_ns() const { return last_ns_ - first_ns_; }

 private:
  bool is_empty_ = true;
  std::int64_t first_ns_ = 0;
  std::int64_t last_ns_ = 0;
};

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

std::optional<PlainTime> PlainTimeFrom(const Trace& plain, const Trace& recording) {
  const auto recorded_step_ns = RecordedStepNs(recording);
  const auto plain_step_ns = RecordedStepNs(plain);
  if (recorded_step_ns && plain_step_ns) {
    PlainTime time = StepTime(*plain_step_ns, *recorded_step_ns, recording);
    time.has_first_step = time.has_first_step || plain.steps.size() == 1;
    return IfKnown(time);
  }
  const LaunchMatch match = MatchLaunches(recording, plain);
  BeginSpan recorded_span;
  BeginSpan plain_span;
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    if (match.partners[row] != kNoRow) {
      recorded_span.Add(recording.activities.begin_ns[row]);
      plain_span.Add(plain.activities.begin_ns[match.partners[row]]);
    }
  }
  return IfKnown({.piece = TimedPiece::kLaunches,
                  .recorded_ns = recorded_span.length_ns(),
                  .plain_ns = plain_span.length_ns()});
}

std::optional<PlainTime> PlainTimeFrom(std::int64_t plain_ns, const Trace& recording) {
  if (const auto step_ns = RecordedStepNs(recording)) {
    return IfKnown(StepTime(plain_ns, *step_ns, recording));
  }
  BeginSpan span;
  for (const std::int64_t begin_ns : recording.activities.begin_ns) {
    span.Add(begin_ns);
  }
  return IfKnown(
      {.piece = TimedPiece::kLaunches, .recorded_ns = span.length_ns(), .plain_ns = plain_ns});
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
