#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/string_table.h"
#include "orrery/memory/kernel_line.h"
#include "orrery/memory/used_memory.h"
#include "orrery/memory/value_counts.h"
#include "orrery/memory/working_set_groups.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Footprint against working set over the kernels of a recording. Levels count kernels that were
/// seen exactly; the upper bound those of which it is known what they can reach.
struct WorkingSetSummary {
  std::int64_t num_kernels = 0;
  BytesSpread footprint = {};  // of all kernels, at their begin
  std::array<BytesSpread, kNumFootprintClasses> class_footprint = {};
  std::array<BytesSpread, kNumWorkingSetLevels> levels = {};
  std::int64_t read_bytes = 0;  // of kernels seen exactly
  std::int64_t write_bytes = 0;
  std::int64_t unowned_bytes = 0;

  [[nodiscard]] const BytesSpread& At(WorkingSetLevel level) const {
    return levels[static_cast<std::size_t>(level)];
  }

  /// Mean footprint by the largest working set, as published tables have it; nothing without one.
  [[nodiscard]] std::optional<double> MeanByLargest(WorkingSetLevel level) const;

  /// Mean footprint by mean working set: the same statistic on both sides.
  [[nodiscard]] std::optional<double> MeanByMean(WorkingSetLevel level) const;

  bool operator==(const WorkingSetSummary&) const = default;
};

/// Takes a recording in pieces, in the order of events, and says what its launches used. What each
/// used is folded at once: memory is that of the piece at hand and of values that differ.
class WorkingSet {
 public:
  /// What one launch, copy or set used, with its name.
  struct Launch {
    StringId name = StringId::kEmpty;  // NameOf says it
    UsedMemory used = {};
  };

  /// Pages smaller than `page_bytes` count as pages of that size.
  explicit WorkingSet(std::int64_t page_bytes = 4096) : page_bytes_(page_bytes) {}

  void Add(const trace::Trace& piece);

  [[nodiscard]] WorkingSetSummary Summary() const;

  /// Groups by short name of the kernel (copies and sets by their names), or by operator, largest
  /// working set first, ties by name.
  [[nodiscard]] std::vector<WorkingSetGroup> ByKernel() const { return by_kernel_.Sorted(); }

  [[nodiscard]] std::vector<WorkingSetGroup> ByOperator() const { return by_operator_.Sorted(); }

  [[nodiscard]] const KernelLine& line() const { return line_; }

  /// Whether more than one piece came: launches are not listed then, since their list would grow
  /// with the recording.
  [[nodiscard]] bool IsInPieces() const { return num_pieces_ > 1; }

  [[nodiscard]] std::span<const Launch> launches() const { return launches_; }

  [[nodiscard]] std::string_view NameOf(const Launch& launch) const {
    return names_.View(launch.name);
  }

 private:
  void AddKernel(const UsedMemory& used);

  std::int64_t page_bytes_;
  std::int64_t num_pieces_ = 0;
  WorkingSetSummary sums_;  // without spreads
  ValueCounts footprint_;
  std::array<ValueCounts, kNumFootprintClasses> class_footprint_;
  std::array<ValueCounts, kNumWorkingSetLevels> levels_;
  GroupedUse by_kernel_;
  GroupedUse by_operator_;
  KernelLine line_;
  StringTable names_;
  std::vector<Launch> launches_;
};

}  // namespace orrery::memory
