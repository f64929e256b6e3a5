#pragma once

#include <cstdint>
#include <vector>

#include "orrery/ingest/nsys/nccl_call.h"

namespace orrery::ingest::nsys {

/// Calls of NCCL that were issued together: one call, or all calls of a group. Their kernels are
/// launched on the same thread between `begin_ns` and `end_ns`.
struct NcclOperation {
  RowId track = kNoRow;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::vector<NcclCall> calls = {};  // those that move data
};

/// Puts the calls of one rank together, ordered by track and begin. Groups may be nested; a group
/// that was still open at the end gives its calls one by one.
[[nodiscard]] std::vector<NcclOperation> GroupNcclCalls(std::vector<NcclCall> calls);

}  // namespace orrery::ingest::nsys
