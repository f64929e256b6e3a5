#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

enum class DecimalMark : std::uint8_t { kPoint, kComma };

/// Infers the separator from all numbers of a file, since "34,254" is ambiguous: in a number with
/// both marks the last is the decimal one; a mark that occurs twice separates thousands; a mark not
/// followed by three digits is the decimal one. Default: point.
[[nodiscard]] DecimalMark DecimalMarkOf(std::span<const std::string_view> numbers);

/// Reads "1,234.5" or "1.234,5", also with spaces or apostrophes between thousands; nothing for
/// other text ("no data").
[[nodiscard]] std::optional<double> ParseLocalised(std::string_view text, DecimalMark mark);

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
[[nodiscard]] Result<CountedKernels> ReadNsightCompute(const std::string& path);

}  // namespace orrery::overlap
