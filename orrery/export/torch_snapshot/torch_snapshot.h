#pragma once

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// A line of a call stack.
struct Frame {
  std::string name = {};
  std::string file = {};
  std::int64_t line = 0;

  bool operator==(const Frame&) const = default;
};

/// Reads "function file:line", "file:line", or anything else, which is taken for a name.
[[nodiscard]] Frame FrameOf(std::string_view text);

/// An action in a snapshot's history, in the order of simultaneous actions.
enum class SnapshotAction : std::uint8_t { kFree, kSegmentFree, kSegmentAlloc, kAlloc };

struct SnapshotStep {
  std::int64_t order = 0;
  SnapshotAction action = SnapshotAction::kAlloc;
  RowId object = kNoRow;
};

/// A segment that exists at the end, with its tensors by address, without overlap.
struct SnapshotSegment {
  RowId object = kNoRow;
  std::vector<RowId> tensors = {};
};

/// The snapshot of one device.
struct SnapshotDevice {
  std::vector<SnapshotStep> history = {};
  std::vector<SnapshotSegment> segments = {};
};

/// Objects of a trace that a snapshot cannot represent.
struct SnapshotLeftOut {
  std::int64_t num_outside = 0;    // objects outside the framework's allocator
  std::int64_t num_misplaced = 0;  // tensors at the end that overlap others or leave their segment
};

struct SnapshotPlan : SnapshotLeftOut {
  std::vector<SnapshotDevice> devices = {};  // by number
};

/// Arranges the memory objects of a trace as PyTorch's allocator would report them. A segment is
/// what the recording calls one, or memory of the driver that tensors lie in; a tensor that lies in
/// nothing has a segment of its own.
[[nodiscard]] SnapshotPlan PlanSnapshot(const trace::Trace& trace);

/// Writes segments and tensors of one process as a memory snapshot of PyTorch, which its viewer
/// (pytorch.org/memory_viz) opens: the final state and the history of allocations. Memory
/// that existed before the recording has no entry in the history. Fails where the trace
/// knows no segments and tensors. The same trace gives the same bytes. Does not close the sink.
[[nodiscard]] Result<SnapshotLeftOut> WriteTorchSnapshot(const trace::Trace& trace, ByteSink& sink);

}  // namespace orrery::exporting
