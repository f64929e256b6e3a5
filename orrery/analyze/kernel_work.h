#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"

namespace orrery::analyze {

/// The source of a kernel's FLOPs and bytes.
enum class WorkSource : std::uint8_t { kCostModel, kShapes };

/// Returns "XLA cost model" or "operator shapes".
[[nodiscard]] std::string_view WorkSourceName(WorkSource source);

/// FLOPs and bytes of a kernel, as far as they are known.
struct KernelWork {
  RowId activity = kNoRow;
  std::optional<double> flops = {};
  std::optional<double> bytes = {};
  trace::DataType type = trace::DataType::kUnknown;
  WorkSource source = WorkSource::kShapes;
};

/// Returns the compute kernels of the selected steps whose work is known, in order of time.
///
/// They come from XLA's cost model where a kernel carries it (`model_flops`, else `flops`;
/// `bytes_accessed`), else from the shapes of the operator that launched the kernel. If an operator
/// launched several kernels, its work is attributed to the longest GEMM, convolution or attention
/// kernel, else to the longest one.
[[nodiscard]] std::vector<KernelWork> KnownWork(const RunView& run, const DeviceView& device);

/// Sums over what is known on a device.
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

}  // namespace orrery::analyze
