#pragma once

#include <cstdint>
#include <vector>

#include "orrery/ingest/torch_snapshot/snapshot.h"

namespace orrery::ingest::torch_snapshot {

/// What a device held when its history begins.
struct StartState {
  std::vector<Segment> segments;
  std::vector<Block> blocks;
  std::vector<std::uint64_t> block_bytes;  // for each entry that allocates a block: its size
  std::int64_t num_contradictions = 0;     // entries that the state behind them rules out
};

/// The size that the allocator gives a block, where only the program's wish is known.
[[nodiscard]] std::uint64_t RoundedBlock(std::uint64_t requested_bytes);

/// Undoes the history from its end. It is a ring, so what it begins with is nowhere written; what
/// is left of the final state when every entry is undone is what was there before.
[[nodiscard]] StartState Rewind(const DeviceMemory& memory);

}  // namespace orrery::ingest::torch_snapshot
