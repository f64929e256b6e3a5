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
  std::int64_t id = -1;  // Nsight Compute's number of it
  std::string name;
  std::array<std::int64_t, 3> grid = {};   // zeros where only the size is known
  std::array<std::int64_t, 3> block = {};  // …
  LaunchShape shape = {};
  double duration_us = kUnknown;
  double sm_clock_ghz = kUnknown;
  Counters counters = {};
};

struct CountedKernels {
  std::vector<CountedKernel> kernels;  // in the order of the file
  /// Names of counters that no kernel has, as in the table of counters: "dram_pct".
  std::vector<std::string> missing;
};

/// Reads what `ncu --csv` prints: the details page (a line for each metric) or the raw page (a
/// column for each, units in the second line). Lines that begin with "==" are passed over. Numbers
/// may have separators of thousands, and a comma for the point: the file as a whole tells which.
/// Times and sizes come in any unit; names of metrics of older versions are known. A counter that
/// is not there, or "no data", is unknown. A file in which ncu says that counters may not be read
/// is an error that says so.
[[nodiscard]] Result<CountedKernels> ParseNsightCompute(std::string_view text);

/// Reads a file, plain or packed.
[[nodiscard]] Result<CountedKernels> ReadNsightCompute(const std::string& path);

}  // namespace orrery::overlap
