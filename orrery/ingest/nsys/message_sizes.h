#pragma once

#include <cstdint>
#include <vector>

#include "orrery/ingest/nsys/nccl_call.h"

namespace orrery::ingest::nsys {

struct MessageSizes {
  std::int64_t in_bytes = -1;
  std::int64_t out_bytes = -1;
};

/// What calls read and write on this rank. NCCL tells the size of the part that belongs to one
/// rank, so the gathered, scattered or exchanged side is that times the ranks of the communicator
/// (unknown where `num_ranks` is). Where sends and receives come together, sends are what is read
/// and receives what is written; alone they are both, as PyTorch counts them. One unknown size
/// makes the sum unknown.
[[nodiscard]] MessageSizes SumMessageSizes(const std::vector<NcclCall>& calls,
                                           std::int32_t num_ranks);

}  // namespace orrery::ingest::nsys
