#include "orrery/export/torch_snapshot/torch_snapshot.h"

#include <algorithm>
#include <string_view>

#include "orrery/export/torch_snapshot/pickle_writer.h"
#include "orrery/export/torch_snapshot/snapshot_plan.h"

namespace orrery::exporting {
namespace {

// PyTorch's allocator keeps requests of up to 1 MiB in segments of 2 MiB.
constexpr std::int64_t kSmallSegmentBytes = 2 << 20;

class SnapshotWriter {
 public:
  SnapshotWriter(const trace::Trace& trace, ByteSink& sink)
      : trace_(trace), objects_(trace.memory_objects), pickle_(sink), frames_(trace, pickle_) {}

  Status Write(const SnapshotPlan& plan) {
    pickle_.BeginDict();
    pickle_.Text("segments");
    pickle_.BeginList();
    for (const SnapshotDevice& device : plan.devices) {
      for (const SnapshotSegment& segment : device.segments) {
        WriteSegment(segment);
      }
    }
    pickle_.EndList();
    pickle_.Text("device_traces");
    pickle_.BeginList();
    for (const SnapshotDevice& device : plan.devices) {
      WriteHistory(device.history);
    }
    pickle_.EndList();
    pickle_.Text("allocator_settings");
    pickle_.BeginDict();
    pickle_.EndDict();
    pickle_.Text("external_annotations");
    pickle_.BeginList();
    pickle_.EndList();
    pickle_.EndDict();
    return pickle_.Finish();
  }

 private:
  [[nodiscard]] std::int64_t Requested(RowId object) const {
    return objects_.requested_bytes[object] >= 0 ? objects_.requested_bytes[object]
                                                 : objects_.bytes[object];
  }

  [[nodiscard]] std::int64_t Address(RowId object) const {
    return static_cast<std::int64_t>(objects_.address[object]);
  }

  [[nodiscard]] std::uint64_t EndOf(RowId object) const {
    return objects_.address[object] + static_cast<std::uint64_t>(objects_.bytes[object]);
  }

  [[nodiscard]] std::int64_t Stream(RowId object) const {
    return std::max<std::int64_t>(objects_.stream[object], 0);
  }

  void WriteSegment(const SnapshotSegment& segment) {
    const RowId row = segment.object;
    std::int64_t allocated = 0;
    std::int64_t requested = 0;
    for (const RowId tensor : segment.tensors) {
      allocated += objects_.bytes[tensor];
      requested += Requested(tensor);
    }
    pickle_.BeginDict();
    pickle_.Integer("device", std::max(objects_.device[row], 0));
    pickle_.Integer("address", Address(row));
    pickle_.Integer("total_size", objects_.bytes[row]);
    pickle_.Integer("allocated_size", allocated);
    pickle_.Integer("active_size", allocated);
    pickle_.Integer("requested_size", requested);
    pickle_.Integer("stream", Stream(row));
    pickle_.Text("segment_type", objects_.bytes[row] <= kSmallSegmentBytes ? "small" : "large");
    pickle_.Text("segment_pool_id");
    pickle_.Pair(0, 0);
    pickle_.Bool("is_expandable", false);
    WriteFrames(row);
    WriteBlocks(segment);
    pickle_.EndDict();
  }

  // The viewer expects contiguous blocks, so gaps are blocks too.
  void WriteBlocks(const SnapshotSegment& segment) {
    pickle_.Text("blocks");
    pickle_.BeginList();
    std::uint64_t next = objects_.address[segment.object];
    const std::uint64_t end = EndOf(segment.object);
    for (const RowId tensor : segment.tensors) {
      WriteGap(next, objects_.address[tensor]);
      pickle_.BeginDict();
      pickle_.Integer("address", Address(tensor));
      pickle_.Integer("size", objects_.bytes[tensor]);
      pickle_.Integer("requested_size", Requested(tensor));
      pickle_.Text("state", "active_allocated");
      WriteName(tensor);
      WriteFrames(tensor);
      pickle_.EndDict();
      next = EndOf(tensor);
    }
    WriteGap(next, end);
    pickle_.EndList();
  }

  void WriteGap(std::uint64_t begin, std::uint64_t end) {
    if (begin < end) {
      pickle_.BeginDict();
      pickle_.Integer("address", static_cast<std::int64_t>(begin));
      pickle_.Integer("size", static_cast<std::int64_t>(end - begin));
      pickle_.Integer("requested_size", 0);
      pickle_.Text("state", "inactive");
      pickle_.Text("frames");
      pickle_.BeginList();
      pickle_.EndList();
      pickle_.EndDict();
    }
  }

  void WriteHistory(const std::vector<SnapshotStep>& history) {
    pickle_.BeginList();
    for (const SnapshotStep& step : history) {
      switch (step.action) {
        case SnapshotAction::kAlloc:
          WriteEntry("alloc", step.object, Requested(step.object), true);
          break;
        case SnapshotAction::kFree:
          WriteEntry("free_requested", step.object, Requested(step.object), false);
          WriteEntry("free_completed", step.object, Requested(step.object), false);
          break;
        case SnapshotAction::kSegmentAlloc:
          WriteEntry("segment_alloc", step.object, objects_.bytes[step.object], true);
          break;
        case SnapshotAction::kSegmentFree:
          WriteEntry("segment_free", step.object, objects_.bytes[step.object], false);
          break;
      }
    }
    pickle_.EndList();
  }

  void WriteEntry(std::string_view action, RowId object, std::int64_t bytes, bool is_begin) {
    const std::int64_t time_ns =
        objects_.begin_ns[object] +
        (is_begin ? 0 : std::max<std::int64_t>(objects_.duration_ns[object], 0));
    pickle_.BeginDict();
    pickle_.Text("action", action);
    pickle_.Integer("addr", Address(object));
    pickle_.Integer("size", bytes);
    pickle_.Integer("stream", Stream(object));
    pickle_.Integer("time_us", time_ns / 1000);
    WriteName(object);
    WriteFrames(object);
    pickle_.EndDict();
  }

  void WriteName(RowId object) {
    if (const std::string_view name = trace_.Text(objects_.name[object]); !name.empty()) {
      pickle_.Text("user_metadata", name);
    }
  }

  void WriteFrames(RowId object) {
    pickle_.Text("frames");
    frames_.Write(object);
  }

  const trace::Trace& trace_;
  const trace::MemoryObjects& objects_;
  PickleWriter pickle_;
  SnapshotFrames frames_;
};

}  // namespace

Result<SnapshotLeftOut> WriteTorchSnapshot(const trace::Trace& trace, ByteSink& sink) {
  const SnapshotPlan plan = PlanSnapshot(trace);
  if (plan.devices.empty()) {
    return Fail(Error::Kind::kNotFound,
                "the recording has no segments and tensors, which a memory snapshot consists of");
  }
  ORRERY_TRY_STATUS(SnapshotWriter(trace, sink).Write(plan));
  return SnapshotLeftOut{.num_outside = plan.num_outside, .num_misplaced = plan.num_misplaced};
}

}  // namespace orrery::exporting
