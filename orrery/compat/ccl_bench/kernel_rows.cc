#include "orrery/compat/ccl_bench/kernel_rows.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orrery/analyze/json_fields.h"
#include "orrery/base/text.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::ActivityKind;
using trace::Trace;

// The files list copies and fills of ROCm's runtime as kernels; our reader does not.
bool IsRuntimeKernel(std::string_view name) {
  return name.starts_with("MEMORY_COPY_") || name.starts_with("__amd_rocclr_");
}

bool AnyName(std::string_view /*name*/) {
  return true;
}

}  // namespace

Source SourceOf(const Run& run) {
  if (run.set->ranks.empty()) {
    return Source::kJson;
  }
  const std::string& format = run.set->ranks.front().info.format;
  if (Contains(format, "nsys")) {
    return Source::kNsys;
  }
  return Contains(format, "XLA") || Contains(format, "XPlane") ? Source::kXla : Source::kJson;
}

double Rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}f}", value, digits);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::optional<double> SequentialMean(const std::vector<double>& values) {
  if (values.empty()) {
    return std::nullopt;
  }
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> Share(double part, double whole) {
  return whole > 0 ? std::optional(part / whole * 100.0) : std::nullopt;
}

std::vector<RowId> KernelRows(const Trace& trace) {
  NameMemo is_runtime_kernel(trace, &IsRuntimeKernel);
  std::vector<RowId> rows;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const ActivityKind kind = trace.activities.kind[row];
    if (kind == ActivityKind::kKernel ||
        (kind != ActivityKind::kOther && is_runtime_kernel(trace.activities.name[row]))) {
      rows.push_back(row);
    }
  }
  return rows;
}

Interval SpanOf(const Trace& trace, const std::vector<RowId>& rows) {
  if (rows.empty()) {
    return {};
  }
  Interval span{trace.activities.begin_ns[rows.front()], EndNs(trace, rows.front())};
  for (const RowId row : rows) {
    span.end_ns = std::max(span.end_ns, EndNs(trace, row));
  }
  return span;
}

KernelSums SumKernels(const Trace& trace, NameTest chosen) {
  NameMemo is_chosen(trace, chosen);
  KernelSums sums;
  for (const RowId row : KernelRows(trace)) {
    sums.Add(Microseconds(trace.activities.duration_ns[row]),
             is_chosen(trace.activities.name[row]));
  }
  return sums;
}

KernelSums SumKernels(const Run& run, NameTest chosen) {
  KernelSums sums;
  for (const Trace& trace : run.set->ranks) {
    const KernelSums own = SumKernels(trace, chosen);
    sums.all_us += own.all_us;
    sums.chosen_us += own.chosen_us;
  }
  return sums;
}

KernelUnions UniteKernels(const Trace& trace, NameTest chosen) {
  NameMemo is_chosen(trace, chosen);
  KernelUnions unions;
  for (const RowId row : KernelRows(trace)) {
    IntervalSet& set = is_chosen(trace.activities.name[row]) ? unions.chosen : unions.rest;
    set.Append(trace.activities.begin_ns[row], EndNs(trace, row));
  }
  return unions;
}

IntervalSet UniteKernels(const Trace& trace) {
  return UniteKernels(trace, &AnyName).chosen;
}

std::vector<std::optional<double>> RecordedBlocksPerSm(const Trace& trace) {
  std::vector<std::optional<double>> blocks;
  for (const StringId extra : trace.launch_shapes.extra) {
    blocks.push_back(analyze::JsonNumber(trace.Text(extra), "blocks per SM"));
  }
  return blocks;
}

std::optional<double> BlocksOf(const Trace& trace, RowId activity) {
  const RowId shape = trace.activities.shape[activity];
  if (shape == kNoRow || trace.launch_shapes.grid_x[shape] < 0) {
    return std::nullopt;
  }
  return static_cast<double>(trace.launch_shapes.grid_x[shape]) *
         static_cast<double>(trace.launch_shapes.grid_y[shape]) *
         static_cast<double>(trace.launch_shapes.grid_z[shape]);
}

std::optional<double> FirstDeviceMultiprocessors(const Run& run) {
  for (const Trace& trace : run.set->ranks) {
    for (const std::int32_t multiprocessors : trace.devices.multiprocessors) {
      if (multiprocessors > 0) {
        return multiprocessors;
      }
    }
  }
  return std::nullopt;
}

}  // namespace orrery::compat::ccl_bench
