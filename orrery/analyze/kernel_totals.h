#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze {

/// All kernels of one name over the chosen devices, in the selected steps.
struct KernelTotal {
  std::string_view name;
  trace::KernelClass kernel_class = trace::KernelClass::kOther;
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;   // durations, clipped to the windows
  std::int64_t wait_ns = 0;  // of communication kernels: the part that waits for other ranks
  std::int64_t min_ns = 0;
  std::int64_t max_ns = 0;
  double sum_of_squares_ns2 = 0;
};

/// Returns the kernels by name, those with most time first (ties by name). Copies and sets are not
/// kernels.
[[nodiscard]] std::vector<KernelTotal> TotalKernels(const RunView& run);

}  // namespace orrery::analyze
