#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/trace/trace.h"

namespace orrery::memory {

inline constexpr std::size_t kNumOverheadParts = 5;  // phases without the total

/// Returns "execution", "collection", "transfer", "analysis", "waiting" or "total".
[[nodiscard]] std::string_view OverheadPhaseName(trace::OverheadPhase phase);

/// One part of what a recorded run took.
struct OverheadPart {
  std::int64_t total_ns = 0;
  std::int64_t count = 0;
  std::int64_t bytes = 0;

  bool operator==(const OverheadPart&) const = default;
};

/// Where the time of a recorded run went. Parts and total are measured on their own, so that a part
/// that is counted twice or forgotten shows.
struct OverheadSummary {
  std::array<OverheadPart, kNumOverheadParts> parts = {};  // in the order of trace::OverheadPhase
  std::optional<std::int64_t> total_ns;

  [[nodiscard]] const OverheadPart& Of(trace::OverheadPhase phase) const {
    return parts[static_cast<std::size_t>(phase)];
  }

  [[nodiscard]] std::int64_t SumOfParts() const;

  /// What no part explains: below 0 where parts overlap or are counted twice. 0 without a total.
  [[nodiscard]] std::int64_t RestNs() const;

  /// Whether parts and total are at most so many percent of the total apart.
  [[nodiscard]] bool Agrees(double tolerance_percent) const;

  /// The total, else the sum of the parts.
  [[nodiscard]] std::int64_t WholeNs() const { return total_ns.value_or(SumOfParts()); }
};

/// Returns how long a recorded step took: the median of all but the first, which also loads
/// kernels; nothing without steps. What patched kernels take longer is in it, and in no part that a
/// recorder measures on the host.
[[nodiscard]] std::optional<std::int64_t> RecordedStepNs(const trace::Trace& trace);

/// Adds up all devices.
[[nodiscard]] OverheadSummary OverheadOf(const trace::Trace& trace);

}  // namespace orrery::memory
