#pragma once

#include <cstdint>
#include <span>

namespace orrery::simulate {

/// Something that runs on a GPU now. Shares are those of it alone, in millionths.
struct RunningTask {
  std::uint32_t sm_share = 0;
  std::uint32_t memory_share = 0;
  bool is_communication = false;
  bool is_waiting = false;  // communication that spins until the others arrive

  bool operator==(const RunningTask&) const = default;
};

/// Says how fast tasks run that share a GPU. Asked whenever the set that runs on a GPU changes.
class RateModel {
 public:
  virtual ~RateModel() = default;

  /// Writes for each task its speed beside the others over its speed alone, above 0 and at most 1.
  /// Must not depend on anything but `running`; the order of tasks must not matter.
  virtual void Rates(std::span<const RunningTask> running, std::span<double> rates) const = 0;
};

}  // namespace orrery::simulate
