#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>

#include <tsl/robin_map.h>

#include "orrery/memory/used_memory.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// The distribution of values. Percentiles interpolate linearly between the sorted values at
/// position q * (n - 1), as NumPy does. Without values all is zero.
struct BytesSpread {
  std::int64_t count = 0;
  double smallest = 0;
  double mean = 0;
  double median = 0;
  double p90 = 0;
  double largest = 0;

  bool operator==(const BytesSpread&) const = default;
};

/// Values that come many times each, as those of the launches of a training loop do: memory is that
/// of the different ones, and the spread is exact. The order in which they come does not matter.
class ValueCounts {
 public:
  void Add(std::int64_t value) {
    if (value != last_) {
      CountLast();
      last_ = value;
    }
    ++num_last_;
  }

  [[nodiscard]] BytesSpread Spread() const;

 private:
  // Sizes are multiples of large powers of two; the table looks at the low bits.
  struct Hash {
    std::size_t operator()(std::int64_t value) const {
      const std::uint64_t mixed = static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15U;
      return mixed ^ (mixed >> 32U);
    }
  };

  void CountLast() {
    if (num_last_ > 0) {
      counts_[last_] += num_last_;
      num_last_ = 0;
    }
  }

  tsl::robin_map<std::int64_t, std::int64_t, Hash> counts_;
  // Neighbours are often equal: they are counted here first.
  std::int64_t last_ = 0;
  std::int64_t num_last_ = 0;
};

/// Bytes over kernels in order of launch, for a picture. However many kernels come, the points stay
/// few: each is the largest of `step` neighbours, and the step doubles when there are too many.
class KernelLine {
 public:
  static constexpr std::size_t kMaxPoints = 2'000;

  /// The curves over the kernels.
  enum Curve : std::uint8_t { kFootprint, kReach, kObjects };

  static constexpr std::size_t kNumCurves = 3;

  using Point = std::array<std::int64_t, kNumCurves>;  // -1: not known

  void Add(const Point& point);

  [[nodiscard]] const std::vector<Point>& points() const { return points_; }

  /// Returns the number of kernels per point; the last point may have fewer.
  [[nodiscard]] std::int64_t step() const { return step_; }

  [[nodiscard]] std::int64_t num_kernels() const { return num_kernels_; }

 private:
  void DoubleStep();

  std::vector<Point> points_;
  std::int64_t step_ = 1;
  std::int64_t num_kernels_ = 0;
  std::int64_t num_in_last_ = 0;
};

/// Launches of one kernel or one operator.
struct WorkingSetGroup {
  std::string name = {};
  std::int64_t num_launches = 0;
  std::int64_t num_exact = 0;
  BytesSpread object_bytes = {};  // of exact launches
  BytesSpread page_bytes = {};
  BytesSpread reach_bytes = {};
  std::int64_t read_bytes = 0;
  std::int64_t write_bytes = 0;

  bool operator==(const WorkingSetGroup&) const = default;
};

/// The sums of a group while launches are added.
struct WorkingSetSums {
  WorkingSetGroup group = {};              // without name and spreads
  std::array<ValueCounts, 3> levels = {};  // object, page, reach

  void Add(const UsedMemory& used);
};

using WorkingSetSumsByName = std::map<std::string, WorkingSetSums>;

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

/// Computes the memory that launches used from a recording in pieces, in the order of events. Keeps
/// only the distinct values.
class WorkingSet {
 public:
  /// The memory that one launch, copy or set used, with its name.
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
  [[nodiscard]] std::vector<WorkingSetGroup> ByKernel() const;
  [[nodiscard]] std::vector<WorkingSetGroup> ByOperator() const;

  [[nodiscard]] const KernelLine& line() const { return line_; }

  /// Returns true if there was more than one piece. Launches are not listed then, since their list
  /// would grow with the recording.
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
  WorkingSetSumsByName by_kernel_;
  WorkingSetSumsByName by_operator_;
  KernelLine line_;
  StringTable names_;
  std::vector<Launch> launches_;
};

}  // namespace orrery::memory
