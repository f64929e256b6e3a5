#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/uvm/workload_builder.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::uvm {

/// The objects of a recording as managed memory: all memory of one GPU is taken as managed, pinned
/// and static memory is not. What was there before the recording and has nothing in it holds data.
class ManagedObjects {
 public:
  /// Adds roots and objects to the builder. Keeps a reference to the trace. Device -1: any.
  ManagedObjects(const trace::Trace& trace, std::int32_t device, WorkloadBuilder& builder);

  /// Returns the object of a row of MemoryObjects, or nothing where it is not managed.
  [[nodiscard]] std::optional<std::size_t> Find(RowId row) const;

  /// Returns what of `memory` lies in the object of a row.
  [[nodiscard]] AddressRange Inside(RowId row, const ByteRange& memory) const;

  [[nodiscard]] AddressRange All(RowId row) const;

  /// Returns the most bytes of roots that are alive at once, in whole pages.
  [[nodiscard]] std::int64_t PeakBytes(const Workload& workload) const;

 private:
  [[nodiscard]] bool IsManaged(RowId row) const;
  [[nodiscard]] RowId Outermost(RowId row) const;
  [[nodiscard]] RowId ContainerOf(RowId row) const;
  void AddRoots(WorkloadBuilder& builder);
  void AddObjects(WorkloadBuilder& builder);
  void FillLeaves(WorkloadBuilder& builder) const;

  const trace::MemoryObjects& rows_;
  std::int32_t device_;
  std::vector<std::size_t> root_of_row_;
  std::vector<std::size_t> object_of_row_;
};

}  // namespace orrery::memory::uvm
