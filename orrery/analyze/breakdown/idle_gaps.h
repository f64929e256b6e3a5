#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

}  // namespace orrery::analyze
