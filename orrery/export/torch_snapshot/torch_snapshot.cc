#include "orrery/export/torch_snapshot/torch_snapshot.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/base/string_table.h"
#include "orrery/export/torch_snapshot/pickle_writer.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting {
namespace {

using trace::MemoryClass;

// Deeper than operators nest; parents of a damaged recording may form a circle.
constexpr int kMaxOperators = 64;

// Far more devices than a machine has.
constexpr std::int32_t kMaxDevices = 4096;

class Planner {
 public:
  explicit Planner(const trace::Trace& trace)
      : objects_(trace.memory_objects), holds_tensors_(objects_.size(), false) {}

  SnapshotPlan Plan() {
    for (RowId row = 0; row < objects_.size(); ++row) {
      if (IsTensor(row) && objects_.parent[row] != kNoRow) {
        holds_tensors_[objects_.parent[row]] = true;
      }
    }
    for (RowId row = 0; row < objects_.size(); ++row) {
      AddObject(row);
    }
    for (auto& [segment, tensors] : tensors_at_end_) {
      AddSegment(segment, tensors);
    }
    for (SnapshotDevice& device : plan_.devices) {
      std::ranges::stable_sort(device.history, {}, [](const SnapshotStep& step) {
        return std::pair(step.order, step.action);
      });
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] bool IsTensor(RowId row) const {
    return objects_.memory_class[row] == MemoryClass::kTensor;
  }

  [[nodiscard]] bool IsSegment(RowId row) const {
    return holds_tensors_[row] || objects_.memory_class[row] == MemoryClass::kSegment;
  }

  [[nodiscard]] bool IsAliveAtEnd(RowId row) const { return objects_.death_order[row] < 0; }

  SnapshotDevice& DeviceOf(RowId row) {
    const std::int32_t number = std::clamp(objects_.device[row], 0, kMaxDevices - 1);
    const auto place = static_cast<std::size_t>(number);
    plan_.devices.resize(std::max(plan_.devices.size(), place + 1));
    return plan_.devices[place];
  }

  void AddObject(RowId row) {
    const bool is_tensor = IsTensor(row);
    const bool is_orphan = is_tensor && objects_.parent[row] == kNoRow;
    if (!is_tensor && !IsSegment(row)) {
      ++plan_.num_outside;
      return;
    }
    if (!is_tensor || is_orphan) {
      AddLife(row, SnapshotAction::kSegmentAlloc, SnapshotAction::kSegmentFree);
      if (IsAliveAtEnd(row)) {
        tensors_at_end_.try_emplace(row);
      }
    }
    if (is_tensor) {
      AddLife(row, SnapshotAction::kAlloc, SnapshotAction::kFree);
      if (IsAliveAtEnd(row)) {
        tensors_at_end_[is_orphan ? row : objects_.parent[row]].push_back(row);
      }
    }
  }

  // Objects that are older than the recording have no allocation in the history.
  void AddLife(RowId row, SnapshotAction begin, SnapshotAction end) {
    std::vector<SnapshotStep>& history = DeviceOf(row).history;
    if (objects_.birth_order[row] >= 0) {
      history.push_back({.order = objects_.birth_order[row], .action = begin, .object = row});
    }
    if (!IsAliveAtEnd(row)) {
      history.push_back({.order = objects_.death_order[row], .action = end, .object = row});
    }
  }

  void AddSegment(RowId row, std::vector<RowId>& tensors) {
    std::ranges::stable_sort(tensors, {}, [&](RowId tensor) { return objects_.address[tensor]; });
    SnapshotSegment segment{.object = row};
    std::uint64_t free_from = objects_.address[row];
    std::uint64_t free_bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(objects_.bytes[row], 0));
    for (const RowId tensor : tensors) {
      const std::uint64_t address = objects_.address[tensor];
      const auto bytes =
          static_cast<std::uint64_t>(std::max<std::int64_t>(objects_.bytes[tensor], 0));
      const bool fits = address >= free_from && address - free_from <= free_bytes &&
                        bytes <= free_bytes - (address - free_from);
      if (!fits) {
        ++plan_.num_misplaced;
        continue;
      }
      free_bytes -= address - free_from + bytes;
      free_from = address + bytes;
      segment.tensors.push_back(tensor);
    }
    DeviceOf(row).segments.push_back(std::move(segment));
  }

  const trace::MemoryObjects& objects_;
  std::vector<bool> holds_tensors_;
  std::map<RowId, std::vector<RowId>> tensors_at_end_;  // by segment
  SnapshotPlan plan_;
};

// PyTorch's allocator keeps requests of up to 1 MiB in segments of 2 MiB.
constexpr std::int64_t kSmallSegmentBytes = 2 << 20;

class SnapshotWriter {
 public:
  SnapshotWriter(const trace::Trace& trace, ByteSink& sink)
      : trace_(trace), objects_(trace.memory_objects), pickle_(sink) {}

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

  // Writes the frames that allocated an object, the innermost first: the call stack, then the
  // operators of the framework, whose file is "operator". Equal lists are written once.
  void WriteFrames(RowId object) {
    pickle_.Text("frames");
    const StringId stack = objects_.call_stack[object];
    RowId op = objects_.host_op[object];
    const auto [known, is_new] = frame_lists_.try_emplace({stack, op}, 0);
    if (!is_new) {
      pickle_.Again(known->second);
      return;
    }
    known->second = pickle_.BeginSharedList();
    std::string_view lines = trace_.Text(stack);
    while (!lines.empty()) {
      const std::size_t end = std::min(lines.find('\n'), lines.size());
      WriteFrame(FrameOf(lines.substr(0, end)));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
    for (int depth = 0; op != kNoRow && depth < kMaxOperators; ++depth) {
      WriteFrame({.name = std::string(trace_.Text(trace_.host_ops.name[op])), .file = "operator"});
      op = trace_.host_ops.parent[op];
    }
    pickle_.EndList();
  }

  void WriteFrame(const Frame& frame) {
    pickle_.BeginDict();
    pickle_.Text("filename", frame.file);
    pickle_.Integer("line", frame.line);
    pickle_.Text("name", frame.name);
    pickle_.EndDict();
  }

  const trace::Trace& trace_;
  const trace::MemoryObjects& objects_;
  PickleWriter pickle_;
  std::map<std::pair<StringId, RowId>, PickleWriter::Reference> frame_lists_;
};

}  // namespace

Frame FrameOf(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  std::int64_t line = 0;
  if (colon == std::string_view::npos) {
    return {.name = std::string(text)};
  }
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, line);
  if (error != std::errc() || rest != end || line < 0) {
    return {.name = std::string(text)};
  }
  const std::string_view place = text.substr(0, colon);
  const std::size_t blank = place.rfind(' ');
  if (blank == std::string_view::npos) {
    return {.file = std::string(place), .line = line};
  }
  return {.name = std::string(place.substr(0, blank)),
          .file = std::string(place.substr(blank + 1)),
          .line = line};
}

SnapshotPlan PlanSnapshot(const trace::Trace& trace) {
  return Planner(trace).Plan();
}

Result<SnapshotLeftOut> WriteTorchSnapshot(const trace::Trace& trace, ByteSink& sink) {
  const SnapshotPlan plan = PlanSnapshot(trace);
  if (plan.devices.empty()) {
    return Fail(Error::Kind::kNotFound,
                "the recording has no segments and tensors, which a memory snapshot consists of");
  }
  ORRERY_TRY_STATUS(SnapshotWriter(trace, sink).Write(plan));
  return SnapshotLeftOut(plan);
}

}  // namespace orrery::exporting
