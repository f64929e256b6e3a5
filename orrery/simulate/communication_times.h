#pragma once

#include <cstdint>
#include <span>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/kernel_code.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// Says how long communication takes once all members of a group are there.
class CommunicationTimes {
 public:
  virtual ~CommunicationTimes() = default;

  /// Returns picoseconds for a group whose members, in order, have these GPUs. Asked once for each
  /// kind, size, element and link class of a simulation.
  [[nodiscard]] virtual Result<std::int64_t> DurationPs(
      const workload::Communications::Row& communication, std::span<const network::GpuId> gpus) = 0;

  /// Returns what its kernel takes of each of these GPUs while it runs, when that is known. Asked
  /// as often, when somebody wants to know.
  [[nodiscard]] virtual Result<CommunicationTask> KernelOf(
      const workload::Communications::Row& /*communication*/,
      std::span<const network::GpuId> /*gpus*/) {
    return CommunicationTask{};
  }
};

}  // namespace orrery::simulate
