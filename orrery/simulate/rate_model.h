#pragma once

#include <cstdint>
#include <span>

#include "orrery/simulate/kernel_code.h"

namespace orrery::simulate {

/// A task that runs on a GPU now. Shares are those of the task alone, in millionths.
struct RunningTask {
  std::uint32_t sm_share = 0;
  std::uint32_t memory_share = 0;
  KernelCode side = 0;        // for models that know more of a task than its shares
  std::uint32_t program = 0;  // that it is of, which tells the GPU
  bool is_communication = false;
  bool is_waiting = false;  // communication that spins until the others arrive

  bool operator==(const RunningTask&) const = default;
};

/// How fast concurrent tasks on a GPU run, and how long an arriving task waits for resources.
/// Evaluated whenever the set of running tasks changes. Not thread-safe.
class RateModel {
 public:
  virtual ~RateModel() = default;

  /// Writes for each task its concurrent speed relative to its speed alone, above 0 and at most 1.
  /// Must not depend on anything but `running`; the order of tasks must not matter.
  virtual void Rates(std::span<const RunningTask> running, std::span<double> rates) const = 0;

  /// Whether it uses kernel codes and delays arriving tasks.
  [[nodiscard]] virtual bool KnowsPairs() const { return false; }

  /// How long an arriving task waits for resources; `running_ps` says for how long
  /// each of them has been there. It gets room earlier when all of the other kind have gone:
  /// communication waits for what computes and the other way round.
  [[nodiscard]] virtual std::int64_t DelayPs(const RunningTask& /*arriving*/,
                                             std::span<const RunningTask> /*running*/,
                                             std::span<const std::int64_t> /*running_ps*/) const {
    return 0;
  }
};

}  // namespace orrery::simulate
