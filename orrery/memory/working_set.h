#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/memory/footprint.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// How finely a working set is seen. At each level a byte counts once, and only inside of objects
/// that live when the launch begins.
enum class WorkingSetLevel : std::uint8_t {
  kAllocation,  // whole allocations, outermost, that hold something touched
  kObject,      // whole objects touched, innermost: tensors where they are known
  kPage,        // pages touched, clipped to their objects
  kSector,      // pieces of 512 bytes or less, clipped to their objects
  kByte,        // bytes of single accesses, copies and sets
  kReach,       // upper bound: objects touched or given as arguments
};

inline constexpr std::size_t kNumWorkingSetLevels = 6;

[[nodiscard]] std::string_view WorkingSetLevelName(WorkingSetLevel level);

/// What one launch, copy or set used.
struct UsedMemory {
  std::size_t item = 0;  // of RecordedWork
  trace::RowId activity = trace::kNoRow;
  trace::Coverage coverage = trace::Coverage::kUnseen;
  bool is_kernel = false;
  Footprint footprint = {};
  std::array<std::int64_t, kNumWorkingSetLevels> level_bytes = {};  // -1: not recorded
  std::int64_t read_bytes = 0;  // issued; data that are read again count again
  std::int64_t write_bytes = 0;
  std::int64_t unowned_bytes = 0;  // … of that to addresses that no live object owns

  [[nodiscard]] std::int64_t At(WorkingSetLevel level) const {
    return level_bytes[static_cast<std::size_t>(level)];
  }

  bool operator==(const UsedMemory&) const = default;
};

/// Returns what each launch, copy and set used, in order. Pages smaller than `page_bytes` count as
/// pages of that size. The upper bound is there for launches with arguments that point to objects,
/// and is not part of any other level.
[[nodiscard]] std::vector<UsedMemory> UsedMemoryOf(const trace::Trace& trace,
                                                   std::int64_t page_bytes = 4096);

/// How values are spread. Percentiles interpolate linearly between the sorted values at position
/// q * (n - 1), as NumPy does. Without values all is zero.
struct BytesSpread {
  std::int64_t count = 0;
  double smallest = 0;
  double mean = 0;
  double median = 0;
  double p90 = 0;
  double largest = 0;

  bool operator==(const BytesSpread&) const = default;
};

[[nodiscard]] BytesSpread SpreadOf(std::span<const double> values);

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

[[nodiscard]] WorkingSetSummary SummarizeWorkingSet(std::span<const UsedMemory> used);

/// Launches of one kernel or one operator.
struct WorkingSetGroup {
  std::string name;
  std::int64_t num_launches = 0;
  std::int64_t num_exact = 0;
  BytesSpread object_bytes = {};  // of exact launches
  BytesSpread page_bytes = {};
  BytesSpread reach_bytes = {};
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;

  bool operator==(const WorkingSetGroup&) const = default;
};

/// Returns groups by short name of the kernel (copies and sets by their names), or by operator,
/// largest working set first, ties by name.
[[nodiscard]] std::vector<WorkingSetGroup> GroupByKernel(const trace::Trace& trace,
                                                         std::span<const UsedMemory> used);
[[nodiscard]] std::vector<WorkingSetGroup> GroupByOperator(const trace::Trace& trace,
                                                           std::span<const UsedMemory> used);

}  // namespace orrery::memory
