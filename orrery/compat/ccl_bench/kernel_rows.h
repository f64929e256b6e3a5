#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/table.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

// A file as Chrome JSON represents it: slices of all tables, host and device.

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

[[nodiscard]] std::optional<double> Share(double part, double whole);

/// Returns the activities of category `kernel` in a Chrome JSON file, in order of begin.
[[nodiscard]] std::vector<RowId> KernelRows(const trace::Trace& trace);

[[nodiscard]] inline std::int64_t EndNs(const trace::Trace& trace, RowId activity) {
  return trace.activities.begin_ns[activity] + trace.activities.duration_ns[activity];
}

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

[[nodiscard]] IntervalSet UniteKernels(const trace::Trace& trace);

[[nodiscard]] std::optional<double> BlocksOf(const trace::Trace& trace, RowId activity);

/// Returns the multiprocessors of the first device of the run; the suite uses them for all.
[[nodiscard]] std::optional<double> FirstDeviceMultiprocessors(const Run& run);

[[nodiscard]] const Table* FindTable(const Run& run, std::string_view format);
/// Returns the card's model family if it is one of the three that the tools of group 6 know.
[[nodiscard]] std::optional<std::string_view> FamilyOfGroup6(const Run& run);

/// Returns true if the family ran over PCIe in group 6's experiments.
[[nodiscard]] bool IsPcieFamily(std::string_view family);

/// Steps of one file, each the time of its marker on the host.
using Steps = std::vector<Interval>;

/// Returns the `ProfilerStep#n` ranges of the user in order of n.
[[nodiscard]] Steps ProfilerSteps(const trace::Trace& trace);

/// Returns vLLM's `execute_context_…` ranges (of old versions), else SGLang's `run_batch` calls.
[[nodiscard]] Steps EngineSteps(const trace::Trace& trace);

/// Returns the engine steps of vLLM on a TPU, known by a line number of its source.
[[nodiscard]] Steps XlaEngineSteps(const trace::Trace& trace);

/// Returns the steps without the first and the last when there are more than two.
[[nodiscard]] Steps InnerSteps(Steps steps);

struct Slice {
  Interval time;
  StringId name = StringId::kEmpty;
  StringId category = StringId::kEmpty;  // if the table does not imply it
  StringId extra = StringId::kEmpty;
  RowId track = kNoRow;
};

/// Returns the arguments of an activity that have no column.
[[nodiscard]] StringId ExtraOf(const trace::Trace& trace, RowId activity);

/// Calls `visit(slice)` for each row of a table with durations.
template <typename Table, typename Visit>
void ForEachSliceOf(const Table& table, Visit&& visit) {
  for (RowId row = 0; row < table.size(); ++row) {
    Slice slice{.time = {table.begin_ns[row], table.begin_ns[row] + table.duration_ns[row]},
                .name = table.name[row],
                .extra = table.extra[row],
                .track = table.track[row]};
    if constexpr (requires { table.category; }) {
      slice.category = table.category[row];
    }
    visit(slice);
  }
}

/// Calls `visit(slice)` for each slice of a file, table by table.
template <typename Visit>
void ForEachSlice(const trace::Trace& trace, Visit&& visit) {
  RowId activity = 0;
  ForEachSliceOf(trace.activities, [&](Slice slice) {
    slice.extra = ExtraOf(trace, activity++);
    visit(slice);
  });
  ForEachSliceOf(trace.host_ops, visit);
  ForEachSliceOf(trace.runtime_calls, visit);
  ForEachSliceOf(trace.annotations, visit);
  ForEachSliceOf(trace.python_calls, visit);
  ForEachSliceOf(trace.syncs, visit);
  ForEachSliceOf(trace.other_slices, visit);
}

struct XlaArguments {
  std::optional<double> device_seconds = {};
  std::optional<double> model_flops = {};
  std::optional<double> message_bytes = {};   // from the shape, else the accessed bytes
  std::optional<double> accessed_bytes = {};  // raw before estimated
  std::string_view hlo_category = {};
};

[[nodiscard]] XlaArguments ReadXlaArguments(std::string_view extra);

[[nodiscard]] std::optional<double> WallMicroseconds(const Run& run);

struct ModelFlops {
  double model_flops = 0;
  std::int64_t busy_ns = 0;  // while a slice with FLOPs runs
};

[[nodiscard]] ModelFlops SumModelFlops(const Run& run);

/// Returns the bytes of shapes such as "(bf16[8,128]{1,0}, u32[])"; 0 for none.
[[nodiscard]] double ShapeBytes(std::string_view shape);

}  // namespace orrery::compat::ccl_bench
