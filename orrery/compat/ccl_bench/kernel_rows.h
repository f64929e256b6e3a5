#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/base/interval_set.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {

/// The recorder selects one of the suite's three definitions.
enum class Source { kJson, kNsys, kXla };

[[nodiscard]] Source SourceOf(const Run& run);

/// Returns a time as in Chrome JSON files. All sums of the suite are sums of such numbers.
[[nodiscard]] inline double Microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000.0;
}

/// Returns Python's round(value, digits): half to even on the exact decimal value.
[[nodiscard]] double Rounded(double value, int digits);

/// Returns the mean, summed in order, or nothing.
[[nodiscard]] std::optional<double> SequentialMean(const std::vector<double>& values);

/// Returns the mean of `value_of(trace)` over the files that have a value, or nothing.
template <typename ValueOf>
[[nodiscard]] std::optional<double> MeanOverFiles(const Run& run, ValueOf value_of) {
  std::vector<double> values;
  for (const trace::Trace& trace : run.set->ranks) {
    if (const std::optional<double> value = value_of(trace)) {
      values.push_back(*value);
    }
  }
  return SequentialMean(values);
}

/// Returns 100 · part / whole, or nothing without a whole.
[[nodiscard]] std::optional<double> Share(double part, double whole);

/// Returns the activities of category `kernel` in a Chrome JSON file, in order of begin.
[[nodiscard]] std::vector<RowId> KernelRows(const trace::Trace& trace);

/// Returns the end of an activity.
[[nodiscard]] inline std::int64_t EndNs(const trace::Trace& trace, RowId activity) {
  return trace.activities.begin_ns[activity] + trace.activities.duration_ns[activity];
}

/// Returns the smallest interval that contains both.
[[nodiscard]] inline Interval Hull(const Interval& a, const Interval& b) {
  return {std::min(a.begin_ns, b.begin_ns), std::max(a.end_ns, b.end_ns)};
}

/// From the first begin to the last end of rows in order of begin; empty: {0, 0}.
[[nodiscard]] Interval SpanOf(const trace::Trace& trace, const std::vector<RowId>& rows);

/// Sums of durations: of all kernels, and of the chosen ones.
struct KernelSums {
  double all_us = 0;
  double chosen_us = 0;

  void Add(double duration_us, bool is_chosen) {
    all_us += duration_us;
    chosen_us += is_chosen ? duration_us : 0;
  }

  [[nodiscard]] std::optional<double> ChosenShare() const { return Share(chosen_us, all_us); }
};

[[nodiscard]] KernelSums SumKernels(const trace::Trace& trace, NameTest chosen);
[[nodiscard]] KernelSums SumKernels(const Run& run, NameTest chosen);

/// Unions of the kernels of one file, separated by name.
struct KernelUnions {
  IntervalSet chosen;
  IntervalSet rest;
};

[[nodiscard]] KernelUnions UniteKernels(const trace::Trace& trace, NameTest chosen);

/// Returns the union of all kernels of a file.
[[nodiscard]] IntervalSet UniteKernels(const trace::Trace& trace);

/// Returns the profiler's `blocks per SM` of each launch shape, where the file has it.
[[nodiscard]] std::vector<std::optional<double>> RecordedBlocksPerSm(const trace::Trace& trace);

/// Returns the number of blocks of a launch.
[[nodiscard]] std::optional<double> BlocksOf(const trace::Trace& trace, RowId activity);

/// Returns the multiprocessors of the first device of the run; the suite uses them for all.
[[nodiscard]] std::optional<double> FirstDeviceMultiprocessors(const Run& run);

}  // namespace orrery::compat::ccl_bench
