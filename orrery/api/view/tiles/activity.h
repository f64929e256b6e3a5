#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::api::view {

/// The activity of a GPU at an instant. The codes are part of the protocol (docs/formats/view.md).
enum class Activity : std::uint8_t {
  kIdle,
  kGemm,
  kAttention,
  kCompute,  // other kernels
  kOptimizer,
  kCommunication,  // a transfer that no kernel hides
  kWait,           // for a late peer
  kBubble,         // for a stage of the pipeline
  kHost,           // the next activity is not launched yet
  kMemory,         // nothing but memcpys and memsets run
};

inline constexpr std::size_t kNumActivities = 10;

struct ActivityName {
  std::string_view key;
  std::string_view text;
};

/// In the order of Activity.
inline constexpr std::array<ActivityName, kNumActivities> kActivityNames = {{
    {"idle", "idle"},
    {"gemm", "GEMM"},
    {"attention", "attention"},
    {"compute", "other compute"},
    {"optimizer", "optimizer"},
    {"communication", "exposed communication"},
    {"wait", "waiting for a late peer"},
    {"bubble", "pipeline bubble"},
    {"host", "waiting for the host"},
    {"memory", "memcpy and memset"},
}};

/// The activity of a kernel while it runs.
[[nodiscard]] Activity ActivityOf(trace::KernelClass kernel_class);

/// The same of what a simulated GPU does; of kernels its category decides.
[[nodiscard]] Activity ActivityOf(const simulate::TimeSlice& slice);

/// Divides the time of a rank: segment i lasts from begin_ns[i] to the begin of the next, the last
/// one until `end_ns`. Neighbours differ.
struct ActivityLine {
  std::vector<std::int64_t> begin_ns;
  std::vector<Activity> what;
  std::int64_t end_ns = 0;

  [[nodiscard]] std::size_t size() const { return begin_ns.size(); }

  [[nodiscard]] std::int64_t EndOf(std::size_t segment) const {
    return segment + 1 < size() ? begin_ns[segment + 1] : end_ns;
  }

  /// Adds a segment behind the last one.
  void Append(std::int64_t at_ns, Activity activity);

  bool operator==(const ActivityLine&) const = default;
};

/// Adds the time of each activity between two instants to `sums_ns`.
void AddTimes(const ActivityLine& line, std::int64_t begin_ns, std::int64_t end_ns,
              std::array<std::int64_t, kNumActivities>& sums_ns);

/// The activities of all devices of a recorded rank. Of several activities at an instant kernels
/// that compute count first, then transfers, waits, copies. A pause is the host's until the
/// activity that ends it is launched; the rest is bubble on ranks of a pipeline, else idle.
/// O(n log streams).
[[nodiscard]] ActivityLine RecordedActivity(const analyze::RunView& run, std::uint32_t rank_index);

/// The same of a simulated rank class, whose waits the simulation knows.
[[nodiscard]] ActivityLine SimulatedActivity(const simulate::RankClasses& rank_classes,
                                             const simulate::Timeline& timeline,
                                             simulate::RankClassId rank_class);

}  // namespace orrery::api::view
