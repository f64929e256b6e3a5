#include "orrery/memory/uvm/collect.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/workload.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::uvm {
namespace {

using trace::Coverage;
using trace::MemoryClass;

// More than a GPU has, and deeper than allocators nest: such numbers come from damaged files.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr int kMostLevels = 16;

/// The objects of a recording as managed memory: all memory of one GPU except pinned and static
/// memory. Objects older than the recording that contain no other object hold data.
class ManagedObjects {
 public:
  /// Adds roots and objects to the builder. Keeps a reference to the trace. Device -1: any.
  ManagedObjects(const trace::Trace& trace, std::int32_t device, WorkloadBuilder& builder)
      : rows_(trace.memory_objects),
        device_(device),
        root_of_row_(rows_.size(), kNoIndex),
        object_of_row_(rows_.size(), kNoIndex) {
    AddRoots(builder);
    AddObjects(builder);
    FillLeaves(builder);
  }

  /// Returns the object of a row of MemoryObjects, or nothing where it is not managed.
  [[nodiscard]] std::optional<std::size_t> Find(RowId row) const {
    const std::size_t object = row == kNoRow ? kNoIndex : object_of_row_[row];
    return object == kNoIndex ? std::nullopt : std::optional(object);
  }

  /// Returns what of `memory` lies in the object of a row.
  [[nodiscard]] AddressRange Inside(RowId row, const ByteRange& memory) const {
    const AddressRange all = All(row);
    const ByteRange shared = Intersection(RangeOf(all.address, all.bytes), memory);
    return {.address = shared.begin, .bytes = shared.size()};
  }

  [[nodiscard]] AddressRange All(RowId row) const {
    return {.address = rows_.address[row], .bytes = rows_.bytes[row]};
  }

  /// Returns the most bytes of roots that are alive at once, in whole pages.
  [[nodiscard]] std::int64_t PeakBytes(const Workload& workload) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // order, bytes; frees come first
    for (const Root& root : workload.roots) {
      const std::int64_t bytes = root.pages.count * workload.page_bytes;
      changes.emplace_back(rows_.birth_order[root.row], bytes);
      if (rows_.death_order[root.row] >= 0) {
        changes.emplace_back(rows_.death_order[root.row], -bytes);
      }
    }
    std::ranges::sort(changes);
    std::int64_t bytes = 0;
    std::int64_t peak = 0;
    for (const auto& [order, change] : changes) {
      bytes += change;
      peak = std::max(peak, bytes);
    }
    return peak;
  }

 private:
  [[nodiscard]] bool IsManaged(RowId row) const {
    const MemoryClass memory_class = rows_.memory_class[row];
    const std::int32_t device = rows_.device[row];
    return memory_class != MemoryClass::kPinned && memory_class != MemoryClass::kStatic &&
           rows_.bytes[row] > 0 && rows_.bytes[row] <= kMostBytes &&
           rows_.address[row] <= ~std::uint64_t{0} - kMostBytes &&
           (device == device_ || device < 0 || device_ < 0);
  }

  // In a damaged file objects may contain each other; these have no outermost one.
  [[nodiscard]] RowId Outermost(RowId row) const {
    for (int level = 0; level < kMostLevels; ++level) {
      if (rows_.parent[row] == kNoRow) {
        return row;
      }
      row = rows_.parent[row];
    }
    return kNoRow;
  }

  // The segment around it, or else the whole allocation.
  [[nodiscard]] RowId ContainerOf(RowId row) const {
    for (RowId around = row; around != kNoRow; around = rows_.parent[around]) {
      if (rows_.memory_class[around] == MemoryClass::kSegment) {
        return around;
      }
    }
    return Outermost(row);
  }

  void AddRoots(WorkloadBuilder& builder) {
    for (RowId row = 0; row < rows_.size(); ++row) {
      if (rows_.parent[row] == kNoRow && IsManaged(row)) {
        root_of_row_[row] = builder.AddRoot(All(row), row);
      }
    }
  }

  void AddObjects(WorkloadBuilder& builder) {
    for (RowId row = 0; row < rows_.size(); ++row) {
      const RowId outermost = Outermost(row);
      const std::size_t root = outermost == kNoRow ? kNoIndex : root_of_row_[outermost];
      if (root != kNoIndex) {
        root_of_row_[row] = root;
        object_of_row_[row] = builder.AddObject(root, All(row), row).value_or(kNoIndex);
      }
    }
    for (RowId row = 0; row < rows_.size(); ++row) {
      if (object_of_row_[row] == kNoIndex) {
        continue;
      }
      const std::size_t container = object_of_row_[ContainerOf(row)];
      if (container != kNoIndex) {
        builder.SetContainer(object_of_row_[row], container);
      }
    }
  }

  void FillLeaves(WorkloadBuilder& builder) const {
    std::vector<bool> has_parts(rows_.size(), false);
    for (const RowId parent : rows_.parent) {
      if (parent != kNoRow) {
        has_parts[parent] = true;
      }
    }
    for (RowId row = 0; row < rows_.size(); ++row) {
      if (object_of_row_[row] != kNoIndex && !has_parts[row] && rows_.birth_order[row] < 0) {
        builder.Fill(object_of_row_[row]);
      }
    }
  }

  const trace::MemoryObjects& rows_;
  std::int32_t device_;
  std::vector<std::size_t> root_of_row_;
  std::vector<std::size_t> object_of_row_;
};

std::int32_t BusiestDevice(const RecordedWork& work) {
  std::map<std::int32_t, std::int64_t> works_of_device;
  work.ForEach([&](const WorkItem& item) { ++works_of_device[work.DeviceOf(item)]; });
  const auto busiest = std::ranges::max_element(
      works_of_device, [](const auto& a, const auto& b) { return a.second < b.second; });
  return busiest == works_of_device.end() ? -1 : busiest->first;
}

class Collector {
 public:
  Collector(const trace::Trace& trace, const Parameters& parameters, const hardware::Gpu& gpu)
      : trace_(trace),
        parameters_(parameters),
        gpu_(gpu),
        work_(trace),
        builder_(parameters.page_bytes, parameters.block_bytes),
        objects_(trace, BusiestDevice(work_), builder_) {
    basis_.device = BusiestDevice(work_);
    if (!trace.steps.empty()) {
      first_step_ns_ = *std::ranges::min_element(trace.steps.begin_ns);
      is_before_steps_ = true;
    }
  }

  Collected Collect() {
    work_.ForEach([&](const WorkItem& item) { AddItem(item); });
    SetLives();
    Workload workload = builder_.Finish();
    workload.footprint_bytes = objects_.PeakBytes(workload);
    return {.workload = std::move(workload), .basis = basis_};
  }

 private:
  void AddItem(const WorkItem& item) {
    if (item.activity == kNoRow || work_.DeviceOf(item) != basis_.device) {
      ++basis_.works_elsewhere;
      return;
    }
    const RowId op = OutermostOperatorOf(item);
    if (IsBeforeSteps(op)) {
      ++basis_.works_before;
      FillTouched(item);
      return;
    }
    ++basis_.works;
    builder_.AddWork(OperatorOf(item, op), 0);
    order_of_work_.push_back(item.order);
    bytes_touched_ = 0;
    AddPageRuns(item);
    for (const RowId touch : item.touches) {
      AddTouch(item, touch);
    }
    Work& added = builder_.workload().works.back();
    basis_.works_without_touches += added.num_touches == 0 ? 1 : 0;
    added.duration_ns = DurationOf(item);
  }

  // A replay prefetches when the framework is called, not for each call that it makes of itself.
  [[nodiscard]] RowId OutermostOperatorOf(const WorkItem& item) const {
    RowId row = trace_.activities.host_op[item.activity];
    while (row != kNoRow && trace_.host_ops.parent[row] != kNoRow) {
      row = trace_.host_ops.parent[row];
    }
    return row;
  }

  // Operators have times of the host, as steps have; what has no operator is where its neighbours
  // are.
  [[nodiscard]] bool IsBeforeSteps(RowId op) {
    if (op != kNoRow && !trace_.steps.empty()) {
      is_before_steps_ = trace_.host_ops.begin_ns[op] < first_step_ns_;
    }
    return is_before_steps_;
  }

  void FillTouched(const WorkItem& item) {
    for (const RowId touch : item.touches) {
      if (const auto object = objects_.Find(trace_.touches.object[touch])) {
        builder_.Fill(*object);
      }
    }
    order_before_steps_ = item.order;
  }

  std::size_t OperatorOf(const WorkItem& item, RowId row) {
    if (row == kNoRow) {
      return AddOperator(work_.NameOf(item), row, item.order);
    }
    const auto [known, is_new] = operator_of_row_.try_emplace(row, 0);
    if (is_new) {
      known->second = AddOperator(trace_.Text(trace_.host_ops.name[row]), row, item.order);
    }
    return known->second;
  }

  std::size_t AddOperator(std::string_view name, RowId row, std::int64_t order) {
    begins_.push_back({.order = order, .row = row});
    return builder_.AddOperator(name);
  }

  void AddPageRuns(const WorkItem& item) {
    with_pages_.clear();
    for (const RowId run : item.page_runs) {
      const RowId row = trace_.page_runs.object[run];
      const auto object = objects_.Find(row);
      if (!object) {
        continue;
      }
      if (std::ranges::find(with_pages_, row) == with_pages_.end()) {
        with_pages_.push_back(row);
      }
      builder_.AddTouch(*object,
                        objects_.Inside(row, RangeOfPages(trace_.page_runs.address[run],
                                                          trace_.page_runs.num_pages[run],
                                                          trace_.page_runs.page_bytes[run])));
    }
  }

  void AddTouch(const WorkItem& item, RowId touch) {
    const RowId row = trace_.touches.object[touch];
    const auto object = objects_.Find(row);
    const bool is_counted = work_.IsCounted(touch);
    if (!is_counted && item.coverage == Coverage::kExact) {
      return;
    }
    if (!object) {
      ++basis_.touches_left_out;
      return;
    }
    CountBytes(touch, row);
    if (std::ranges::find(with_pages_, row) != with_pages_.end()) {
      ++basis_.touches_by_page;
    } else if (trace_.touches.coverage[touch] == Coverage::kByArgument) {
      ++basis_.touches_by_argument;
      builder_.AddTouch(*object);
    } else if (trace_.touches.extent_bytes[touch] >= 0) {
      ++basis_.touches_by_extent;
      builder_.AddTouch(*object, objects_.Inside(row, RangeOf(trace_.touches.address[touch],
                                                              trace_.touches.extent_bytes[touch])));
    } else {
      ++basis_.touches_whole;
      builder_.AddTouch(*object);
    }
  }

  void CountBytes(RowId touch, RowId row) {
    if (work_.IsCounted(touch)) {
      bytes_touched_ +=
          static_cast<double>(std::max<std::int64_t>(trace_.touches.read_bytes[touch], 0));
      bytes_touched_ +=
          static_cast<double>(std::max<std::int64_t>(trace_.touches.write_bytes[touch], 0));
    } else {
      bytes_touched_ += static_cast<double>(trace_.memory_objects.bytes[row]);
    }
  }

  // A recorder that sees accesses has no times: bytes at the memory's bandwidth stand in.
  std::int64_t DurationOf(const WorkItem& item) {
    const std::int64_t recorded_ns = trace_.activities.duration_ns[item.activity];
    if (recorded_ns > 0) {
      return recorded_ns;
    }
    ++basis_.durations_modelled;
    const double seconds = bytes_touched_ / gpu_.memory.bytes_per_second;
    return std::max<std::int64_t>(std::llround(seconds * 1e9), parameters_.kernel_floor_ns);
  }

  // When roots are freed, and which operators begin while an object is alive.
  void SetLives() {
    Workload& workload = builder_.workload();
    for (Root& root : workload.roots) {
      const std::int64_t death = trace_.memory_objects.death_order[root.row];
      root.end_work = death < 0 ? kNoIndex : FirstAfter(order_of_work_, death);
      if (root.end_work == workload.works.size() && IsFromBeforeSteps(root.row)) {
        root.end_work = kNoIndex;  // the next iteration needs it
      }
    }
    std::vector<std::int64_t> order_of_operator;
    for (const Begin& begin : begins_) {
      order_of_operator.push_back(begin.order);
    }
    for (Object& object : workload.objects) {
      const std::int64_t birth = trace_.memory_objects.birth_order[object.row];
      const std::int64_t death = trace_.memory_objects.death_order[object.row];
      object.first_operator = birth < 0 ? 0 : FirstAfter(order_of_operator, birth);
      while (birth >= 0 && object.first_operator < begins_.size() &&
             IsBornInside(object.row, begins_[object.first_operator].row)) {
        ++object.first_operator;
      }
      object.end_operator = death < 0 ? kNoIndex : FirstAfter(order_of_operator, death);
    }
  }

  [[nodiscard]] bool IsFromBeforeSteps(RowId object) const {
    return trace_.memory_objects.birth_order[object] < order_before_steps_;
  }

  static std::size_t FirstAfter(const std::vector<std::int64_t>& orders, std::int64_t order) {
    return static_cast<std::size_t>(std::ranges::upper_bound(orders, order) - orders.begin());
  }

  // An operator has often begun well before its first launch.
  [[nodiscard]] bool IsBornInside(RowId object, RowId op) const {
    return op != kNoRow && (trace_.memory_objects.host_op[object] == op ||
                            trace_.memory_objects.begin_ns[object] > trace_.host_ops.begin_ns[op]);
  }

  struct Begin {
    std::int64_t order = 0;  // of the first work
    RowId row = kNoRow;
  };

  const trace::Trace& trace_;
  const Parameters& parameters_;
  const hardware::Gpu& gpu_;
  RecordedWork work_;
  WorkloadBuilder builder_;
  ManagedObjects objects_;
  Basis basis_;
  std::map<RowId, std::size_t> operator_of_row_;
  std::vector<Begin> begins_;  // [operator]
  std::int64_t first_step_ns_ = 0;
  bool is_before_steps_ = false;
  std::int64_t order_before_steps_ = 0;  // of the last work before the first step
  std::vector<std::int64_t> order_of_work_;
  std::vector<RowId> with_pages_;  // objects of the item whose pages were recorded
  double bytes_touched_ = 0;       // by the item
};

}  // namespace

Collected Collect(const trace::Trace& trace, const Parameters& parameters,
                  const hardware::Gpu& gpu) {
  return Collector(trace, parameters, gpu).Collect();
}

}  // namespace orrery::memory::uvm
