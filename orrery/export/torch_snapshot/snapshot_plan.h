#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/export/torch_snapshot/pickle_writer.h"
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

/// Writes where objects were allocated, the innermost first: the call stack, then the operators of
/// the framework, whose file is "operator". Equal lists are written once.
class SnapshotFrames {
 public:
  SnapshotFrames(const trace::Trace& trace, PickleWriter& pickle)
      : trace_(trace), pickle_(pickle) {}

  /// Writes the list of an object's frames.
  void Write(RowId object);

 private:
  void WriteFrame(const Frame& frame);

  const trace::Trace& trace_;
  PickleWriter& pickle_;
  std::map<std::pair<StringId, RowId>, PickleWriter::Reference> lists_;
};

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

struct SnapshotPlan {
  std::vector<SnapshotDevice> devices = {};  // by number
  std::int64_t num_outside = 0;              // objects outside of the framework's allocator
  std::int64_t num_misplaced = 0;  // tensors at the end that overlap others or leave their segment
};

/// Arranges the memory objects of a trace as PyTorch's allocator would report them. A segment is
/// what the recording calls one, or memory of the driver that tensors lie in; a tensor that lies in
/// nothing has a segment of its own.
[[nodiscard]] SnapshotPlan PlanSnapshot(const trace::Trace& trace);

}  // namespace orrery::exporting
