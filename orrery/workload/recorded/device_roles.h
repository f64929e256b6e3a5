#pragma once

#include <cstdint>
#include <unordered_map>

#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/phase_ranges.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {

/// Says of recorded kernels what they are for, by the phase in which they were launched and the
/// operator that launched them, and what they take of the GPU: the work of the operator over the
/// time of all its kernels. A kernel of an operator that is not understood has no category, and
/// holds the multiprocessors alone. The recording and the GPU must outlive it.
class DeviceRoles {
 public:
  DeviceRoles(const trace::Trace& recording, PhaseRanges phases, const hardware::Gpu& gpu);

  [[nodiscard]] DeviceRole RoleOf(RowId activity);

 private:
  void Describe(RowId host_op, DeviceRole& role);
  [[nodiscard]] double SecondsOf(RowId host_op) const;
  [[nodiscard]] std::int64_t LaunchedAt(RowId activity) const;

  const trace::Trace& recording_;
  PhaseRanges phases_;
  const hardware::Gpu& gpu_;
  std::unordered_map<RowId, std::int64_t> time_of_operator_ns_;  // of the kernels it launches
  std::unordered_map<RowId, DeviceRole> role_of_operator_;       // without phases
};

}  // namespace orrery::workload
