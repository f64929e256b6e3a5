#include "orrery/memory/uvm/managed_objects.h"

#include <algorithm>
#include <utility>

namespace orrery::memory::uvm {
namespace {

using trace::kNoRow;
using trace::MemoryClass;
using trace::RowId;

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
         rows_.bytes[row] > 0 && (device == device_ || device < 0 || device_ < 0);
}

RowId ManagedObjects::Outermost(RowId row) const {
  while (rows_.parent[row] != kNoRow) {
    row = rows_.parent[row];
  }
  return row;
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
    const std::size_t root = root_of_row_[Outermost(row)];
    if (root != kNoIndex) {
      root_of_row_[row] = root;
      object_of_row_[row] = builder.AddObject(root, All(row), row).value_or(kNoIndex);
    }
  }
  for (RowId row = 0; row < rows_.size(); ++row) {
    const std::size_t container = object_of_row_[ContainerOf(row)];
    if (object_of_row_[row] != kNoIndex && container != kNoIndex) {
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

AddressRange ManagedObjects::Inside(RowId row, const AddressRange& memory) const {
  const AddressRange all = All(row);
  const std::uint64_t begin = std::max(memory.address, all.address);
  const std::uint64_t end =
      std::min(memory.address + static_cast<std::uint64_t>(std::max<std::int64_t>(memory.bytes, 0)),
               all.address + static_cast<std::uint64_t>(all.bytes));
  return {.address = begin, .bytes = begin < end ? static_cast<std::int64_t>(end - begin) : 0};
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
