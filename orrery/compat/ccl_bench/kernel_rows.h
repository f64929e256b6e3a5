#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/compat/ccl_bench/compat.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/base/interval_set.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {

/// Which of the suite's three definitions applies: it depends on who recorded.
enum class Source { kJson, kNsys, kXla };

[[nodiscard]] Source SourceOf(const CompatRun& run);

/// Returns a time as a Chrome JSON file has it. All sums of the suite are sums of such numbers.
[[nodiscard]] inline double Microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000.0;
}

/// Returns Python's round(value, digits): half to even on the exact decimal value.
[[nodiscard]] double Rounded(double value, int digits);

/// Returns the sum in the order given over their number, or nothing.
[[nodiscard]] std::optional<double> PlainMean(const std::vector<double>& values);

/// Returns 100 · part / whole, or nothing without a whole.
[[nodiscard]] std::optional<double> Share(double part, double whole);

/// Returns the activities that have the category `kernel` in a Chrome JSON file; in order of begin.
[[nodiscard]] std::vector<RowId> KernelRows(const trace::Trace& trace);

/// Returns the end of an activity.
[[nodiscard]] inline std::int64_t EndNs(const trace::Trace& trace, RowId activity) {
  return trace.activities.begin_ns[activity] + trace.activities.duration_ns[activity];
}

/// From the first begin to the last end of rows in order of begin; empty: {0, 0}.
[[nodiscard]] Interval SpanOf(const trace::Trace& trace, const std::vector<RowId>& rows);

/// Durations of kernels added up, and of those that have a property.
struct KernelSums {
  double all_us = 0;
  double chosen_us = 0;

  KernelSums& operator+=(const KernelSums& other);
};

[[nodiscard]] KernelSums SumKernels(const trace::Trace& trace, NameTest chosen);
[[nodiscard]] KernelSums SumKernels(const CompatRun& run, NameTest chosen);

/// Kernels of one file as unions of time, parted in two by name.
struct KernelUnions {
  IntervalSet chosen;
  IntervalSet rest;
};

[[nodiscard]] KernelUnions UniteKernels(const trace::Trace& trace, NameTest chosen);

/// Returns the union of all kernels of a file.
[[nodiscard]] IntervalSet UniteKernels(const trace::Trace& trace);

}  // namespace orrery::compat::ccl_bench
