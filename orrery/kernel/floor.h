#pragma once

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// The time below which no kernel of an operator can be on a GPU: its arithmetic at the peak, and
/// the bytes that caches cannot hold at the bandwidth of the memory. Less than the roofline
/// (`BoundOf`) where a measured kernel may beat that: convolutions in fp32 that multiply less
/// (Winograd's), operands in a cache, and rows that are read again or not at all.
[[nodiscard]] double FloorSeconds(const Operator& op, const hardware::Gpu& gpu);

}  // namespace orrery::kernel
