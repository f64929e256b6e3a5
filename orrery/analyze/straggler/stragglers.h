#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"

namespace orrery::analyze {

/// Why a device was idle, inferred from the activity that ends the gap.
enum class IdleCause : std::uint8_t {
  kUnknown,         // its launch was not recorded
  kHostWait,        // the host launched it only after the gap began
  kLaunchOverhead,  // launched in time, and the gap is short
  kDependency,      // it waited for work elsewhere that ended inside the gap
  kOther,
};

inline constexpr int kNumIdleCauses = 5;

[[nodiscard]] std::string_view IdleCauseName(IdleCause cause);

struct IdleGap {
  Interval time;  // inside one window
  IdleCause cause = IdleCause::kUnknown;
  RowId ended_by = kNoRow;   // the activity; none when the window ends first
  std::uint32_t window = 0;  // of the device
};

/// Returns the times inside the selected windows in which nothing runs on a device, in order. They
/// add up to the idle time of its breakdown. Linear in the activities.
[[nodiscard]] std::vector<IdleGap> FindIdleGaps(const RunView& run, const DeviceView& device);

/// The arrivals of one rank at the collectives of its group.
struct RankArrivals {
  std::int32_t rank = 0;
  std::uint32_t rank_index = 0;
  std::int64_t times_last = 0;
  std::int64_t times_first = 0;
  std::int64_t wait_ns = 0;      // its own
  std::int64_t duration_ns = 0;  // in communication kernels
  std::int64_t blame_ns = 0;     // the others' waits where it was last
  std::int64_t gain_ns = 0;      // last - second last where it was last
};

struct GroupArrivals {
  std::uint32_t group = 0;  // MatchedCollectives::groups
  std::int64_t num_collectives = 0;
  double lateness_ns = 0;           // sum of (last - median arrival)
  std::vector<RankArrivals> ranks;  // in order of rank
};

/// Returns the arrivals of every group with reliably matched collectives that synchronise more than
/// one rank. Ties between ranks go to the lower rank.
[[nodiscard]] std::vector<GroupArrivals> CountArrivals(const RunView& run);

/// Adds the arrivals of all groups by rank; those with most blame first, then gain, then rank.
[[nodiscard]] std::vector<RankArrivals> ArrivalsByRank(const std::vector<GroupArrivals>& groups);

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

/// Why the last rank came late to one collective: what it did since the group's collective before,
/// against the rank at the lower median. All ranks leave a collective together, so differences
/// after it explain differences of arrival.
struct LateArrival {
  std::size_t instance = 0;
  std::int32_t rank = 0;           // the last to arrive
  std::int32_t baseline_rank = 0;  // compared with
  std::int64_t excess_ns = 0;      // additional time; 0 or below: no cause here
  std::optional<SegmentUse> use;   // the largest part of the excess
  std::int64_t use_excess_ns = 0;
  std::string culprit;  // the kernel, operator or call; empty when nothing was recorded
};

/// Returns the causes of all counted collectives but the first of each group, in order.
[[nodiscard]] std::vector<LateArrival> ExplainArrivals(const RunView& run);

struct CauseTotal {
  std::int32_t rank = 0;
  SegmentUse use = SegmentUse::kCompute;
  std::string culprit;
  std::int64_t count = 0;
  std::int64_t excess_ns = 0;
};

/// Adds arrivals by rank, use and culprit; largest first. With `by_culprit` off, by rank and use.
[[nodiscard]] std::vector<CauseTotal> TotalCauses(const std::vector<LateArrival>& arrivals,
                                                  bool by_culprit);

}  // namespace orrery::analyze
