#include "orrery/export/torch_snapshot/snapshot_plan.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <tuple>

namespace orrery::exporting {
namespace {

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

  // What was there before the recording has no beginning in the history.
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

SnapshotPlan PlanSnapshot(const trace::Trace& trace) {
  return Planner(trace).Plan();
}

}  // namespace orrery::exporting
