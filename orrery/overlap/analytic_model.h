#pragma once

#include <cstdint>
#include <limits>

#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// The number of blocks of a kernel that fit on a GPU alone, and together with the blocks of
/// another.
struct Room {
  int of_sm = 0;                // blocks of an empty multiprocessor
  int of_shared_sm = 0;         // … with a block of the other
  std::int64_t alone = 0;       // blocks at a time
  std::int64_t overlapped = 0;  // … with the other running
  std::int64_t waves_alone = 0;
  std::int64_t waves_overlapped = 0;  // 0: it must wait for the end of the other

  /// The slowdown of equal blocks in whole waves; 1 if they must wait, since they run as alone
  /// afterwards.
  [[nodiscard]] double ByWaves() const;

  /// The same for so many waves that blocks no longer end together.
  [[nodiscard]] double ByShare() const;
};

/// The blocks of `shape` on the fullest multiprocessor with `other`, relative to those alone.
/// Blocks are placed where the fewest threads run, so they accumulate on multiprocessors without
/// the other kernel and share their throughput.
[[nodiscard]] double PileWith(const Machine& machine, const LaunchShape& shape,
                              const LaunchShape& other);

/// Registers are allocated in multiples of 8 per thread and 256 per warp.
[[nodiscard]] int BlocksOfSm(const Machine& machine, const LaunchShape& shape);

/// The room of `shape` with `other`, whose blocks are spread over all multiprocessors (two on one
/// only if all have one). Both shapes must be known.
[[nodiscard]] Room RoomWith(const Machine& machine, const LaunchShape& shape,
                            const LaunchShape& other);

/// A kernel as blocks on a GPU: a block computes a tile of its own when it starts, and then takes
/// one of the remaining tiles after the other until none are left.
struct BlockPlan {
  std::int64_t blocks = 0;
  std::int64_t tiles = 0;       // at least one for each block
  std::int64_t alone = 0;       // blocks at a time
  std::int64_t overlapped = 0;  // … with the other kernel running
  /// Tile times relative to those alone: of blocks that start with the kernel while the other one
  /// runs, and of blocks that start later. More than 1 where blocks share a multiprocessor and more
  /// of them run on it than alone.
  double first_pace = 1;
  double later_pace = 1;
};

/// The interval in which the other kernel runs, relative to this one's start and time alone.
struct Presence {
  double from = 0;
  double until = 0;
};

inline constexpr Presence kAllTheTime = {.from = -std::numeric_limits<double>::infinity(),
                                         .until = std::numeric_limits<double>::infinity()};

/// The slowdown of a kernel whose blocks start and end with whole, equal tiles; blocks without room
/// wait for another block or the other kernel to end. 1 if there is no room at all.
[[nodiscard]] double SlowdownByBlocks(const BlockPlan& plan, const Presence& presence);

/// The plan of a pair with known launches, with independent blocks.
[[nodiscard]] BlockPlan PlanOf(const Machine& machine, const Pair& pair);

/// … with blocks that share the throughput of their multiprocessor.
[[nodiscard]] BlockPlan SharedPlanOf(const Machine& machine, const Pair& pair);

/// Analytic model: room on the multiprocessors in whole blocks, and memory bandwidth shared in
/// proportion to demand. If the launch is unknown, a compute kernel is assumed to fill the GPU with
/// many waves.
class AnalyticModel : public Model {
 public:
  void Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                 std::span<Slowdown> slowdowns) const override;

  [[nodiscard]] double DelayUs(const Machine& machine, const Pair& pair,
                               const Arrival& arrival) const override;
};

/// The parts of the analytic slowdown, features of learned models.
struct AnalyticParts {
  double room = 1;     // of the compute kernel, by the remaining multiprocessors
  double memory = 1;   // … by the remaining bandwidth
  double compute = 1;  // the larger of the two, weighted by what bounds the kernel
  double communication = 1;
  double load = 0;  // demand of both over the memory bandwidth
};

[[nodiscard]] AnalyticParts PartsOf(const Machine& machine, const Pair& pair);

struct OverlapTimeline {
  double compute_us = 0;        // duration of the compute kernel
  double communication_us = 0;  // … of the communication kernel
  double both_us = 0;           // while both ran
};

/// Simulates two kernels that run once each: at full speed while alone, slowed down while both run.
/// `compute_us` is the time alone of the compute kernel.
[[nodiscard]] OverlapTimeline SimulateOverlap(double compute_us, const KernelOverlap& overlap,
                                              const Slowdown& slowdown, double delay_us);

}  // namespace orrery::overlap
