#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// One kernel that Nsight Compute profiled alone.
struct CountedKernel {
  std::int64_t id = -1;  // Nsight Compute's id
  std::string name;
  std::array<std::int64_t, 3> grid = {};   // zeros if only the size is known
  std::array<std::int64_t, 3> block = {};  // …
  LaunchShape shape = {};
  double duration_us = kUnknown;
  double sm_clock_ghz = kUnknown;
  Counters counters = {};
};

struct CountedKernels {
  std::vector<CountedKernel> kernels;  // in the order of the file
  /// Counters that no kernel has, by column name: "dram_pct".
  std::vector<std::string> missing;
};

/// Reads the output of `ncu --csv`: the details page (a line per metric) or the raw page (a column
/// per metric, units in the second line). Lines that begin with "==" are skipped. Numbers may have
/// thousands separators and a decimal comma, inferred from the whole file. Times and sizes may have
/// any unit; metric names of older versions are supported. A missing counter, or "no data", is
/// unknown. Missing permission to read counters is an error.
[[nodiscard]] Result<CountedKernels> ParseNsightCompute(std::string_view text);

/// Reads a file, compressed or not.
[[nodiscard]] Result<CountedKernels> ReadNsightCompute(const std::string& path);

}  // namespace orrery::overlap
