#include "orrery/compat/ccl_bench/kernel_rows.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orrery/trace/enums.h"

namespace orrery::compat::ccl_bench {
namespace {

using trace::ActivityKind;
using trace::Trace;

// ROCm's own copies and fills stand in the file as kernels; the reader knows better.
bool IsRuntimeKernel(std::string_view name) {
  return name.starts_with("MEMORY_COPY_") || name.starts_with("__amd_rocclr_");
}

bool AnyName(std::string_view /*name*/) {
  return true;
}

}  // namespace

Source SourceOf(const CompatRun& run) {
  if (run.set->ranks.empty()) {
    return Source::kJson;
  }
  const std::string& format = run.set->ranks.front().info.format;
  if (format.find("nsys") != std::string::npos) {
    return Source::kNsys;
  }
  const bool is_xla =
      format.find("XLA") != std::string::npos || format.find("XPlane") != std::string::npos;
  return is_xla ? Source::kXla : Source::kJson;
}

double Rounded(double value, int digits) {
  const std::string text = fmt::format("{:.{}f}", value, digits);
  double rounded = value;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

std::optional<double> PlainMean(const std::vector<double>& values) {
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

KernelSums& KernelSums::operator+=(const KernelSums& other) {
  all_us += other.all_us;
  chosen_us += other.chosen_us;
  return *this;
}

KernelSums SumKernels(const Trace& trace, NameTest chosen) {
  NameMemo is_chosen(trace, chosen);
  KernelSums sums;
  for (const RowId row : KernelRows(trace)) {
    const double duration_us = Microseconds(trace.activities.duration_ns[row]);
    sums.all_us += duration_us;
    sums.chosen_us += is_chosen(trace.activities.name[row]) ? duration_us : 0;
  }
  return sums;
}

KernelSums SumKernels(const CompatRun& run, NameTest chosen) {
  KernelSums sums;
  for (const Trace& trace : run.set->ranks) {
    sums += SumKernels(trace, chosen);
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

}  // namespace orrery::compat::ccl_bench
