#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "orrery/trace/trace.h"

namespace orrery::memory {

inline constexpr std::size_t kNumOverheadParts = 5;  // phases without the total

/// Returns "execution", "collection", "transfer", "analysis", "waiting" or "total".
[[nodiscard]] std::string_view OverheadPhaseName(trace::OverheadPhase phase);

/// One phase of a recorded run.
struct OverheadPart {
  std::int64_t total_ns = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  bool operator==(const OverheadPart&) const = default;
};

/// The time of a recorded run by phase. Phases and total are measured separately, so that time that
/// is counted twice or missed shows.
struct OverheadSummary {
  std::array<OverheadPart, kNumOverheadParts> parts = {};  // in the order of trace::OverheadPhase
  std::optional<std::int64_t> total_ns;

  [[nodiscard]] const OverheadPart& Of(trace::OverheadPhase phase) const {
    return parts[static_cast<std::size_t>(phase)];
  }

  [[nodiscard]] std::int64_t SumOfParts() const;

  /// The unexplained rest: below 0 where phases overlap. 0 without a total.
  [[nodiscard]] std::int64_t RestNs() const;

  /// Returns true if the rest is within the tolerance.
  [[nodiscard]] bool Agrees(double tolerance_percent) const;

  /// The total, else the sum of the parts.
  [[nodiscard]] std::int64_t WholeNs() const { return total_ns.value_or(SumOfParts()); }
};

/// Returns how long a recorded step took: the median of all but the first, which also loads
/// kernels; nothing without steps. Includes the slowdown of instrumented kernels, which no phase
/// that is measured on the host does.
[[nodiscard]] std::optional<std::int64_t> RecordedStepNs(const trace::Trace& trace);

/// Adds up all devices.
[[nodiscard]] OverheadSummary OverheadOf(const trace::Trace& trace);

/// The part of a recorded and a plain run that is compared.
enum class TimedPiece : std::uint8_t {
  kStep,      // a step: the median of all but the first
  kLaunches,  // from the first to the last launch, copy or set that both runs have
};

/// The time of a piece of a program with recording and without.
struct PlainTime {
  TimedPiece piece = TimedPiece::kStep;
  std::int64_t recorded_ns = 0;
  std::int64_t plain_ns = 0;
  std::int64_t num_pieces = 1;  // in the recording
  bool has_first_step = false;  // a time is that of a first step, which also loads kernels

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

/// The time of a piece in the order of trace::OverheadPhase. Execution is the plain time; transfer,
/// analysis and waiting are measured by the recorder; the rest is collection (callbacks and
/// instrumentation), 0 where concurrent threads make the other phases longer than the piece.
[[nodiscard]] std::array<std::int64_t, kNumOverheadParts> PartsOfPiece(
    const OverheadSummary& overhead, const PlainTime& time);

}  // namespace orrery::memory
