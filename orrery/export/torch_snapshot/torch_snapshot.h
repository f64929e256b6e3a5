#pragma once

#include <cstdint>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// Objects of a trace that a snapshot cannot represent.
struct SnapshotLeftOut {
  std::int64_t num_outside = 0;    // objects outside of the framework's allocator
  std::int64_t num_misplaced = 0;  // tensors at the end that overlap others or leave their segment
};

/// Writes segments and tensors of one process as a memory snapshot of PyTorch, which its viewer
/// (pytorch.org/memory_viz) opens: the final state and the history of allocations. Memory
/// that existed before the recording has no entry in the history. Fails where the trace
/// knows no segments and tensors. The same trace gives the same bytes. Does not close the sink.
[[nodiscard]] Result<SnapshotLeftOut> WriteTorchSnapshot(const trace::Trace& trace, ByteSink& sink);

}  // namespace orrery::exporting
