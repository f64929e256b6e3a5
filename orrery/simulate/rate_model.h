#pragma once

#include <cstdint>
#include <span>

#include "orrery/simulate/kernel_code.h"

namespace orrery::simulate {

/// Something that runs on a GPU now. Shares are those of it alone, in millionths.
struct RunningTask {
  std::uint32_t sm_share = 0;
  std::uint32_t memory_share = 0;
  KernelCode side = 0;        // for models that know more of a task than its shares
  std::uint32_t program = 0;  // that it is of, which tells the GPU
  bool is_communication = false;
  bool is_waiting = false;  // communication that spins until the others arrive

  bool operator==(const RunningTask&) const = default;
};

/// Says how fast tasks run that share a GPU, and how long one that arrives waits for room. Asked
/// whenever the set that runs on a GPU changes. One object serves one thread.
class RateModel {
 public:
  virtual ~RateModel() = default;

  /// Writes for each task its speed beside the others over its speed alone, above 0 and at most 1.
  /// Must not depend on anything but `running`; the order of tasks must not matter.
  virtual void Rates(std::span<const RunningTask> running, std::span<double> rates) const = 0;

  /// Whether it looks at sides and delays what arrives.
  [[nodiscard]] virtual bool KnowsPairs() const { return false; }

  /// How long a task waits for room that arrives where others run; `running_ps` says for how long
  /// each of them has been there. It gets room earlier when all of the other kind have gone:
  /// communication waits for what computes and the other way round.
  [[nodiscard]] virtual std::int64_t DelayPs(const RunningTask& /*arriving*/,
                                             std::span<const RunningTask> /*running*/,
                                             std::span<const std::int64_t> /*running_ps*/) const {
    return 0;
  }
};

}  // namespace orrery::simulate
