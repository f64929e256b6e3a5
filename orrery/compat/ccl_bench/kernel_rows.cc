#include "orrery/compat/ccl_bench/kernel_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/analyze/fields.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/table.h"
#include "orrery/base/text/text.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {
namespace {

using analyze::JsonField, analyze::JsonNumber;
using trace::ActivityKind;
using trace::Trace;

// The files list copies and fills of ROCm's runtime as kernels; our reader does not.
constexpr NameTest kRuntimeKernel{.test = [](std::string_view name) {
  return name.starts_with("MEMORY_COPY_") || name.starts_with("__amd_rocclr_");
}};

constexpr std::string_view kPcieFamily = "qwen-32b";

constexpr auto kFamilies =
    std::to_array<std::string_view>({"deepseek-v2-lite", "llama-3.1-8B", kPcieFamily});

// The number of "ProfilerStep#12", which must end there.
std::optional<std::int64_t> ProfilerStepNumber(std::string_view name) {
  constexpr std::string_view kMarker = "ProfilerStep#";
  const std::size_t at = name.find(kMarker);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  name.remove_prefix(at + kMarker.size());
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_whole = error == std::errc() && stop == name.data() + name.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

constexpr NameTest kOldVllmStep{
    .test = [](std::string_view name) { return name.starts_with("execute_context_"); }};
constexpr NameTest kSglangStep{
    .test = [](std::string_view name) { return name.ends_with(": run_batch"); }};
constexpr NameTest kTpuStep{
    .test = [](std::string_view name) { return name == "$core.py:331 step"; }};

template <typename Table>
Steps StepsNamed(const Trace& trace, const Table& table, NameTest test) {
  PerName is_marker(trace, test);
  Steps steps;
  for (RowId row = 0; row < table.size(); ++row) {
    if (is_marker(table.name[row])) {
      steps.push_back({table.begin_ns[row], table.begin_ns[row] + table.duration_ns[row]});
    }
  }
  return steps;
}

// The bytes of an element by the first number of its type ("bf16", "f8e4m3fn"); "pred" is a byte.
double ElementBytesOf(std::string_view type) {
  const std::size_t at = type.find_first_of("0123456789");
  if (at == std::string_view::npos) {
    return type.ends_with("pred") ? 1 : 0;
  }
  int bits = 0;
  std::from_chars(type.data() + at, type.data() + type.size(), bits);
  return bits / 8.0;
}

// The product of "8,128"; of nothing it is 1.
double Elements(std::string_view dimensions) {
  double product = 1;
  while (!dimensions.empty()) {
    const std::size_t at = dimensions.find_first_of("0123456789");
    if (at == std::string_view::npos) {
      break;
    }
    std::int64_t size = 1;
    const char* const end = dimensions.data() + dimensions.size();
    const auto [stop, error] = std::from_chars(dimensions.data() + at, end, size);
    product *= static_cast<double>(size);
    dimensions.remove_prefix(static_cast<std::size_t>(stop - dimensions.data()));
  }
  return product;
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
  PerName is_runtime_kernel(trace, kRuntimeKernel);
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
  PerName is_chosen(trace, chosen);
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
  PerName is_chosen(trace, chosen);
  KernelUnions unions;
  for (const RowId row : KernelRows(trace)) {
    IntervalSet& set = is_chosen(trace.activities.name[row]) ? unions.chosen : unions.rest;
    set.Append(trace.activities.begin_ns[row], EndNs(trace, row));
  }
  return unions;
}

IntervalSet UniteKernels(const Trace& trace) {
  return UniteKernels(trace, NameTest{}).rest;
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

const Table* FindTable(const Run& run, std::string_view format) {
  for (const Measurement& measurement : run.measurements) {
    if (measurement.format == format) {
      return measurement.rows;
    }
  }
  return nullptr;
}

std::optional<std::string_view> FamilyOfGroup6(const Run& run) {
  const auto family = analyze::CardText(*run.set, "model_family");
  return family && std::ranges::count(kFamilies, *family) > 0 ? family : std::nullopt;
}

bool IsPcieFamily(std::string_view family) {
  return family == kPcieFamily;
}

Steps ProfilerSteps(const Trace& trace) {
  PerName number_of(trace, &ProfilerStepNumber);
  std::vector<std::pair<std::int64_t, Interval>> numbered;
  const trace::Annotations& ranges = trace.annotations;
  for (RowId row = 0; row < ranges.size(); ++row) {
    const auto number = number_of(ranges.name[row]);
    if (ranges.kind[row] == trace::AnnotationKind::kHost && number) {
      numbered.emplace_back(
          *number, Interval{ranges.begin_ns[row], ranges.begin_ns[row] + ranges.duration_ns[row]});
    }
  }
  std::ranges::stable_sort(numbered, {}, &std::pair<std::int64_t, Interval>::first);
  Steps steps;
  for (const auto& [number, time] : numbered) {
    steps.push_back(time);
  }
  return steps;
}

Steps EngineSteps(const Trace& trace) {
  Steps steps = StepsNamed(trace, trace.annotations, kOldVllmStep);
  return steps.empty() ? StepsNamed(trace, trace.python_calls, kSglangStep) : steps;
}

Steps XlaEngineSteps(const Trace& trace) {
  Steps steps = StepsNamed(trace, trace.annotations, kTpuStep);
  return steps.empty() ? StepsNamed(trace, trace.python_calls, kTpuStep) : steps;
}

Steps InnerSteps(Steps steps) {
  if (steps.size() > 2) {
    steps.erase(steps.begin());
    steps.pop_back();
  }
  return steps;
}

XlaArguments ReadXlaArguments(std::string_view extra) {
  XlaArguments arguments;
  if (const auto picoseconds = JsonNumber(extra, "device_duration_ps")) {
    arguments.device_seconds = *picoseconds / 1e12;
  }
  arguments.model_flops = JsonNumber(extra, "model_flops");
  const auto raw = JsonNumber(extra, "raw_bytes_accessed");
  arguments.accessed_bytes = raw ? raw : JsonNumber(extra, "bytes_accessed");
  const double shape_bytes = ShapeBytes(JsonField(extra, "shape_with_layout").value_or(""));
  arguments.message_bytes = shape_bytes > 0 ? std::optional(shape_bytes) : arguments.accessed_bytes;
  arguments.hlo_category = JsonField(extra, "hlo_category").value_or("");
  return arguments;
}

StringId ExtraOf(const Trace& trace, RowId activity) {
  const RowId shape = trace.activities.shape[activity];
  return shape == kNoRow ? trace.activities.extra[activity] : trace.launch_shapes.extra[shape];
}

std::optional<double> WallMicroseconds(const Run& run) {
  std::optional<Interval> wall;
  for (const Trace& trace : run.set->ranks) {
    ForEachSlice(trace,
                 [&](const Slice& slice) { wall = wall ? Hull(*wall, slice.time) : slice.time; });
  }
  return wall ? std::optional(Microseconds(wall->length_ns())) : std::nullopt;
}

ModelFlops SumModelFlops(const Run& run) {
  ModelFlops flops;
  std::vector<Interval> busy;
  for (const Trace& trace : run.set->ranks) {
    PerName arguments_of(trace, &ReadXlaArguments);
    ForEachSlice(trace, [&](const Slice& slice) {
      if (const auto& count = arguments_of(slice.extra).model_flops) {
        flops.model_flops += *count;
        busy.push_back(slice.time);
      }
    });
  }
  flops.busy_ns = IntervalSet::Of(busy).length_ns();
  return flops;
}

double ShapeBytes(std::string_view shape) {
  double bytes = 0;
  for (std::size_t open = shape.find('['); open != std::string_view::npos;
       open = shape.find('[', open + 1)) {
    const std::size_t close = std::min(shape.find(']', open), shape.size());
    // The type before the bracket: letters and digits, beginning with a letter.
    std::size_t begin = open;
    while (begin > 0 && std::isalnum(static_cast<unsigned char>(shape[begin - 1])) != 0) {
      --begin;
    }
    while (begin < open && IsDigit(shape[begin])) {
      ++begin;
    }
    bytes += ElementBytesOf(shape.substr(begin, open - begin)) *
             Elements(shape.substr(open + 1, close - open - 1));
  }
  return bytes;
}

}  // namespace orrery::compat::ccl_bench
