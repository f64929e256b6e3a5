#pragma once

#include <cstdint>

#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// How many blocks of a kernel fit on a GPU alone, and beside the blocks of another.
struct Room {
  int of_sm = 0;            // blocks of an empty multiprocessor
  int of_shared_sm = 0;     // … of one that holds a block of the other
  std::int64_t alone = 0;   // blocks at a time
  std::int64_t beside = 0;  // … with the other there
  std::int64_t waves_alone = 0;
  std::int64_t waves_beside = 0;  // 0: it must wait until the other has gone

  /// How much longer equal blocks take for the room they lack, by whole waves; 1 where they must
  /// wait, since they run as alone afterwards.
  [[nodiscard]] double ByWaves() const;

  /// The same when there are so many waves that blocks no longer end together.
  [[nodiscard]] double ByShare() const;
};

/// How many blocks of `shape` the fullest multiprocessor holds beside `other`, over how many alone.
/// Blocks go where the fewest threads are, so those that find the other kernel on a multiprocessor
/// of their own pile up elsewhere, and run at the pace of the pile.
[[nodiscard]] double PileBeside(const Machine& machine, const LaunchShape& shape,
                                const LaunchShape& other);

/// Registers of a thread come in eights and of a block in multiples of 256 for each warp.
[[nodiscard]] int BlocksOfSm(const Machine& machine, const LaunchShape& shape);

/// The room of `shape` beside `other`, whose blocks spread over as many multiprocessors as there
/// are (two on one only when all hold one). Both shapes must be known.
[[nodiscard]] Room RoomBeside(const Machine& machine, const LaunchShape& shape,
                              const LaunchShape& other);

}  // namespace orrery::overlap
