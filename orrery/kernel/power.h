#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// The power of a board, in watts at the highest clock of its multiprocessors
/// (data/hardware/power.yaml). At a share x of that clock a kernel that uses u of the tensor cores'
/// peak per cycle and v of the memory's bandwidth draws idle + memory · v + (active + tensor · u) ·
/// x^kPowerExponent: voltage follows the clock, memory has a clock of its own.
struct BoardPower {
  double idle_w = 0;
  double active_w = 0;  // of multiprocessors with anything to do
  double tensor_w = 0;  // of tensor cores at their 16-bit peak
  double memory_w = 0;  // at the full bandwidth
  double narrow = 1;    // watts of narrower types at their peak, relative to tensor_w
  /// How far above its limit a board runs for the milliseconds of a benchmark, for kernels of 30 µs
  /// and of 1 ms.
  double burst_short = 1;
  double burst_long = 1;
  std::string measured_on =
      {};  // the GPU whose values were scaled; its own name if it was measured
};

inline constexpr double kPowerExponent = 2.4;

/// Of a GPU that was measured, or scaled from the nearest one that was: tensor cores and
/// multiprocessors by peak and energy of the generation, memory by bandwidth, the rest by the
/// limit.
[[nodiscard]] BoardPower PowerOf(const hardware::Gpu& gpu);

/// A kernel as it runs in a burst.
struct KernelLoad {
  double seconds = 0;
  double tensor_share = 0;  // of the peak of its type
  double memory_share = 0;  // of the bandwidth
  bool is_narrow = false;   // of fewer than 16 bits
};

[[nodiscard]] bool UsesTensorCores(const Operator& op);

[[nodiscard]] KernelLoad LoadOf(const Operator& op, const hardware::Gpu& gpu, double burst_seconds);

/// A kernel and how often it runs.
struct WeightedLoad {
  KernelLoad load;
  double count = 1;
};

/// The state of a board that repeats some kernels for hours.
struct SustainedState {
  double clock = 1;  // share of the highest one
  double watts = 0;  // mean
};

/// Finds the clock at which the mean power of kernels that run one after the other is the GPU's
/// limit, or the highest clock where they draw less. Kernels are shorter than what a board averages
/// over, so all of them run at one clock.
class SustainedClock {
 public:
  /// Limits are those of `gpu`, whose power_watts may differ from the catalogue's.
  explicit SustainedClock(const hardware::Gpu& gpu);

  /// `limit_watts` may differ from the limit of the machines that bursts were measured on.
  SustainedClock(const BoardPower& power, double limit_watts, double burst_limit_watts)
      : power_(power),
        burst_power_(power),
        limit_w_(limit_watts),
        burst_limit_w_(burst_limit_watts) {}

  [[nodiscard]] SustainedState Of(std::span<const WeightedLoad> loads) const;

  /// Returns the time of a kernel at this clock relative to a burst.
  [[nodiscard]] double Slowdown(const KernelLoad& load, double clock) const;

  /// The same of a kernel that is repeated alone.
  [[nodiscard]] double SlowdownAlone(const KernelLoad& load) const;

  [[nodiscard]] const BoardPower& power() const { return power_; }

 private:
  [[nodiscard]] double BurstClock(const KernelLoad& load) const;

  BoardPower power_;
  BoardPower burst_power_;  // of the board that it was scaled from: kernel times of an
                            // unmeasured GPU are as little throttled as those of its siblings
  double limit_w_;
  double burst_limit_w_;
};

/// The time of one operator that is repeated for hours, from its time in a burst.
[[nodiscard]] double SustainedSeconds(const Operator& op, const hardware::Gpu& gpu,
                                      double burst_seconds);

}  // namespace orrery::kernel
