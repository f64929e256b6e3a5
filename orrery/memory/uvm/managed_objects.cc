#include "orrery/memory/uvm/managed_objects.h"

#include <algorithm>
#include <utility>

namespace orrery::memory::uvm {
namespace {

using trace::MemoryClass;

// More than a GPU has, and deeper than allocators nest: such numbers come from damaged files.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr int kMostLevels = 16;

}  // namespace

ManagedObjects::ManagedObjects(const trace::Trace& trace, std::int32_t device,
                               WorkloadBuilder& builder)
    : rows_(trace.memory_objects),
      device_(device),
      root_of_row_(rows_.size(), kNoIndex),
      object_of_row_(rows_.size(), kNoIndex) {
  AddRoots(builder);
  AddObjects(builder);
  FillLeaves(builder);
}

bool ManagedObjects::IsManaged(RowId row) const {
  const MemoryClass memory_class = rows_.memory_class[row];
  const std::int32_t device = rows_.device[row];
  return memory_class != MemoryClass::kPinned && memory_class != MemoryClass::kStatic &&
         rows_.bytes[row] > 0 && rows_.bytes[row] <= kMostBytes &&
         rows_.address[row] <= ~std::uint64_t{0} - kMostBytes &&
         (device == device_ || device < 0 || device_ < 0);
}

// A damaged file may say that objects lie in each other; these have no outermost one.
RowId ManagedObjects::Outermost(RowId row) const {
  for (int level = 0; level < kMostLevels; ++level) {
    if (rows_.parent[row] == kNoRow) {
      return row;
    }
    row = rows_.parent[row];
  }
  return kNoRow;
}

// The segment around it, or else the whole allocation.
RowId ManagedObjects::ContainerOf(RowId row) const {
  for (RowId around = row; around != kNoRow; around = rows_.parent[around]) {
    if (rows_.memory_class[around] == MemoryClass::kSegment) {
      return around;
    }
  }
  return Outermost(row);
}

void ManagedObjects::AddRoots(WorkloadBuilder& builder) {
  for (RowId row = 0; row < rows_.size(); ++row) {
    if (rows_.parent[row] == kNoRow && IsManaged(row)) {
      root_of_row_[row] = builder.AddRoot(All(row), row);
    }
  }
}

void ManagedObjects::AddObjects(WorkloadBuilder& builder) {
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

void ManagedObjects::FillLeaves(WorkloadBuilder& builder) const {
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

std::optional<std::size_t> ManagedObjects::Find(RowId row) const {
  const std::size_t object = row == kNoRow ? kNoIndex : object_of_row_[row];
  return object == kNoIndex ? std::nullopt : std::optional(object);
}

AddressRange ManagedObjects::All(RowId row) const {
  return {.address = rows_.address[row], .bytes = rows_.bytes[row]};
}

AddressRange ManagedObjects::Inside(RowId row, const ByteRange& memory) const {
  const AddressRange all = All(row);
  const ByteRange shared = Intersection(RangeOf(all.address, all.bytes), memory);
  return {.address = shared.begin, .bytes = shared.size()};
}

std::int64_t ManagedObjects::PeakBytes(const Workload& workload) const {
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

}  // namespace orrery::memory::uvm
