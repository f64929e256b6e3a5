#include "orrery/export/torch_snapshot/snapshot_plan.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <tuple>

namespace orrery::exporting {
namespace {

// Deeper than operators nest; parents of a damaged recording may form a circle.
constexpr int kMaxOperators = 64;

using trace::MemoryClass;

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
      std::stable_sort(device.history.begin(), device.history.end(),
                       [](const SnapshotStep& a, const SnapshotStep& b) {
                         return std::tie(a.order, a.action) < std::tie(b.order, b.action);
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
    std::stable_sort(tensors.begin(), tensors.end(),
                     [&](RowId a, RowId b) { return objects_.address[a] < objects_.address[b]; });
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

void SnapshotFrames::Write(RowId object) {
  const StringId stack = trace_.memory_objects.call_stack[object];
  RowId op = trace_.memory_objects.host_op[object];
  const auto [known, is_new] = lists_.try_emplace({stack, op}, 0);
  if (!is_new) {
    pickle_.Again(known->second);
    return;
  }
  known->second = pickle_.BeginSharedList();
  std::string_view lines = trace_.Text(stack);
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    WriteFrame(FrameOf(lines.substr(0, end)));
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
  }
  for (int depth = 0; op != kNoRow && depth < kMaxOperators; ++depth) {
    WriteFrame({.name = std::string(trace_.Text(trace_.host_ops.name[op])), .file = "operator"});
    op = trace_.host_ops.parent[op];
  }
  pickle_.EndList();
}

void SnapshotFrames::WriteFrame(const Frame& frame) {
  pickle_.BeginDict();
  pickle_.Text("filename", frame.file);
  pickle_.Integer("line", frame.line);
  pickle_.Text("name", frame.name);
  pickle_.EndDict();
}

SnapshotPlan PlanSnapshot(const trace::Trace& trace) {
  return Planner(trace).Plan();
}

}  // namespace orrery::exporting
