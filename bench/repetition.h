#pragma once

#include <cstdint>
#include <vector>

namespace orrery::bench {

/// When a generated trace begins, counted from its base time.
inline constexpr std::int64_t kTraceBeginNs = 3'845'883'906'067'107;

/// Where one repetition of the step lies, and how much it is stretched.
struct Repetition {
  std::int64_t number = 0;
  std::int64_t origin_ns = 0;
  std::int64_t scale = 0;  // in units of 2^-20

  // Monotonic, so that what nests in the step nests in every repetition.
  [[nodiscard]] std::int64_t At(std::int64_t step_ns) const {
    return origin_ns + ((step_ns * scale) >> 20);
  }
};

/// Returns where the repetitions of a step lie, one after the other.
[[nodiscard]] std::vector<Repetition> Repetitions(std::int64_t step_duration_ns, int num_steps,
                                                  std::uint64_t seed);

}  // namespace orrery::bench
