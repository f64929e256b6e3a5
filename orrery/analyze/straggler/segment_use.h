#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/analyze/breakdown/idle_gaps.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/math/interval_set.h"

namespace orrery::analyze {

/// The use of a rank's time between two collectives of a group.
enum class SegmentUse : std::uint8_t {
  kCompute,
  kMemory,
  kOtherGroupWait,      // waiting in communication of another group
  kOtherGroupTransfer,  // moving data of another group
  kUnknownGap,
  kHostWait,
  kLaunchOverhead,
  kDependency,
  kOtherGap,
};

inline constexpr int kNumSegmentUses = 9;

[[nodiscard]] std::string_view SegmentUseName(SegmentUse use);

/// Nanoseconds by use; they sum to the segment.
using SegmentTimes = std::array<std::int64_t, kNumSegmentUses>;

/// Splits segments of one device by use. Prepared once, then O(log n) and what lies inside.
class SegmentSplitter {
 public:
  SegmentSplitter(const RunView& run, const DeviceView& device);

  [[nodiscard]] SegmentTimes Split(Interval segment) const;

  /// The longest gap of a segment that waits for the host, or nothing.
  [[nodiscard]] const IdleGap* LongestHostWait(Interval segment) const;

  [[nodiscard]] const DeviceView& device() const { return device_; }

 private:
  const DeviceView& device_;
  std::vector<IdleGap> gaps_;
  IntervalSet waits_;          // communication that waits and nothing else
  IntervalSet communication_;  // without compute and memory
  IntervalSet memory_;         // without compute
};

}  // namespace orrery::analyze
