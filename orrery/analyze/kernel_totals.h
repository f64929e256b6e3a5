#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {

struct DurationTotal {
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t min_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ns = 0;
  double sum_of_squares_ns2 = 0;

  /// Adds a duration, of which `counted_ns` enter the sum.
  void Add(std::int64_t duration_ns, std::int64_t counted_ns) {
    ++count;
    sum_ns += counted_ns;
    min_ns = std::min(min_ns, duration_ns);
    max_ns = std::max(max_ns, duration_ns);
    sum_of_squares_ns2 += static_cast<double>(duration_ns) * static_cast<double>(duration_ns);
  }

  void Add(std::int64_t duration_ns) { Add(duration_ns, duration_ns); }

  DurationTotal& operator+=(const DurationTotal& other) {
    count += other.count;
    sum_ns += other.sum_ns;
    min_ns = std::min(min_ns, other.min_ns);
    max_ns = std::max(max_ns, other.max_ns);
    sum_of_squares_ns2 += other.sum_of_squares_ns2;
    return *this;
  }

  [[nodiscard]] double MeanNs() const {
    return static_cast<double>(sum_ns) / static_cast<double>(count);
  }

  /// The standard deviation of the durations themselves (not an estimate for a larger set).
  [[nodiscard]] double DeviationNs() const {
    const double mean_ns = MeanNs();
    const double variance = sum_of_squares_ns2 / static_cast<double>(count) - mean_ns * mean_ns;
    return std::sqrt(std::max(variance, 0.0));
  }

  /// Sets count, sum_ns, mean_ns, min_ns, max_ns and std_ns; there must be a duration.
  Value& Describe(Value& row) const {
    return row.Set("count", count)
        .Set("sum_ns", sum_ns)
        .Set("mean_ns", MeanNs())
        .Set("min_ns", min_ns)
        .Set("max_ns", max_ns)
        .Set("std_ns", DeviationNs());
  }
};

/// All kernels of one name, or of one class, over the chosen devices, in the selected steps.
struct KernelTotal {
  std::string_view name;
  trace::KernelClass kernel_class = trace::KernelClass::kOther;
  DurationTotal durations = {};  // the sum is clipped to the windows
  std::int64_t wait_ns = 0;      // of communication kernels: waiting for other ranks
};

/// Returns the kernels by name, longest total first (ties by name), without memcpys and memsets. Of
/// several classes of a name it is the one with most time on a device.
[[nodiscard]] std::vector<KernelTotal> TotalKernels(const RunView& run);

/// Returns the same kernels by class, whose name they have.
[[nodiscard]] std::vector<KernelTotal> TotalKernelClasses(const RunView& run);

/// Returns true if kernels of the class do the work of a call that also launched others: GEMMs,
/// convolutions, attention.
[[nodiscard]] bool IsMainClass(trace::KernelClass kernel_class);

inline constexpr std::size_t kNumCopyKinds =
    static_cast<std::size_t>(trace::CopyKind::kUnknown) + 1;

/// Returns the kind of a copy, unknown where it was not recorded; sets stand where copies have
/// none.
[[nodiscard]] trace::CopyKind CopyKindOf(const trace::Activities& activities, RowId row);

/// Returns "HtoD", "DtoD", …; "set" for none.
[[nodiscard]] std::string_view CopyKindName(trace::CopyKind kind);

enum class WorkSource : std::uint8_t { kCostModel, kShapes };

[[nodiscard]] std::string_view WorkSourceName(WorkSource source);

/// FLOPs and bytes of a kernel, as far as they are known.
struct KernelWork {
  RowId activity = kNoRow;
  std::optional<double> flops = {};
  std::optional<double> bytes = {};
  DataType type = DataType::kUnknown;
  WorkSource source = WorkSource::kShapes;
};

/// Returns the compute kernels of the selected steps whose work is known, in order of time.
///
/// They come from XLA's cost model where a kernel carries it (`model_flops`, else `flops`;
/// `bytes_accessed`), else from the shapes of the operator that launched the kernel. If an operator
/// launched several kernels, its work is attributed to the longest GEMM, convolution or attention
/// kernel, else to the longest one.
[[nodiscard]] std::vector<KernelWork> KnownWork(const RunView& run, const DeviceView& device);

struct WorkTotal {
  double flops = 0;
  double bytes = 0;
  std::int64_t kernels_with_flops = 0;
  std::int64_t kernels_with_bytes = 0;
  std::int64_t flops_ns = 0;    // durations of kernels with known FLOPs
  std::int64_t bytes_ns = 0;    // … with known bytes
  std::int64_t compute_ns = 0;  // … of all compute kernels of the selected steps
  std::int64_t num_kernels = 0;
  bool is_from_shapes = false;  // at least in part
};

[[nodiscard]] WorkTotal TotalWork(const RunView& run, const DeviceView& device);

/// The part of the compute time that is in kernels with known work.
struct WorkCoverage {
  std::int64_t known_ns = 0;
  std::int64_t compute_ns = 0;
  bool is_from_shapes = false;

  /// Sets source, `count_key` (if any) to `count`, covered_percent and, where work is missing,
  /// bound.
  void Describe(std::string_view count_key, std::int64_t count, Value& detail) const;
};

}  // namespace orrery::analyze
