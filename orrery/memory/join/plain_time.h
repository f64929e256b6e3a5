#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "orrery/memory/overhead.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// What is compared to say how much longer a program takes when it is recorded.
enum class TimedPiece : std::uint8_t {
  kStep,      // a step: the median of all but the first
  kLaunches,  // from the first to the last launch, copy or set that both runs have
};

/// How long a piece of a program took with recording and without.
struct PlainTime {
  TimedPiece piece = TimedPiece::kStep;
  std::int64_t recorded_ns = 0;
  std::int64_t plain_ns = 0;
  std::int64_t num_pieces = 1;  // in the recording
  bool has_first_step =
      false;  // one of the times is that of a first step, which also loads kernels

  [[nodiscard]] double Slowdown() const {
    return static_cast<double>(recorded_ns) / static_cast<double>(plain_ns);
  }

  bool operator==(const PlainTime&) const = default;
};

/// Compares with a run of the same program that was not slowed down: by steps where both have
/// them, else by launches; nothing where neither can be compared.
[[nodiscard]] std::optional<PlainTime> PlainTimeFrom(const trace::Trace& plain,
                                                     const trace::Trace& recording);

/// Compares a step of the recording, or all its launches where it has no steps, with a time that
/// was measured elsewhere.
[[nodiscard]] std::optional<PlainTime> PlainTimeFrom(std::int64_t plain_ns,
                                                     const trace::Trace& recording);

/// Where the time of a piece went, in the order of trace::OverheadPhase. Execution is the plain
/// time; transfer, analysis and waiting are what the recorder measured, divided by the pieces; the
/// rest is collection: callbacks and patched instructions, which no recorder can time on the host.
/// Threads that work side by side can make the parts longer than the piece; there is no collection
/// then.
[[nodiscard]] std::array<std::int64_t, kNumOverheadParts> PartsOfPiece(
    const OverheadSummary& overhead, const PlainTime& time);

}  // namespace orrery::memory
