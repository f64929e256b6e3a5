#pragma once

#include <cstdint>

#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// The number of blocks of a kernel that fit on a GPU alone, and together with the blocks of
/// another.
struct Room {
  int of_sm = 0;            // blocks of an empty multiprocessor
  int of_shared_sm = 0;     // … with a block of the other
  std::int64_t alone = 0;   // blocks at a time
  std::int64_t beside = 0;  // … with the other running
  std::int64_t waves_alone = 0;
  std::int64_t waves_beside = 0;  // 0: it must wait for the end of the other

  /// The slowdown of equal blocks in whole waves; 1 if they must wait, since they run as alone
  /// afterwards.
  [[nodiscard]] double ByWaves() const;

  /// The same for so many waves that blocks no longer end together.
  [[nodiscard]] double ByShare() const;
};

/// The blocks of `shape` on the fullest multiprocessor with `other`, relative to those alone.
/// Blocks are placed where the fewest threads run, so they accumulate on multiprocessors without
/// the other kernel and share their throughput.
[[nodiscard]] double PileBeside(const Machine& machine, const LaunchShape& shape,
                                const LaunchShape& other);

/// Registers are allocated in multiples of 8 per thread and 256 per warp.
[[nodiscard]] int BlocksOfSm(const Machine& machine, const LaunchShape& shape);

/// The room of `shape` with `other`, whose blocks are spread over all multiprocessors (two on one
/// only if all have one). Both shapes must be known.
[[nodiscard]] Room RoomBeside(const Machine& machine, const LaunchShape& shape,
                              const LaunchShape& other);

}  // namespace orrery::overlap
