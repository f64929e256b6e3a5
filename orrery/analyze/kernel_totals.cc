#include "orrery/analyze/kernel_totals.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/analyze/fields.h"
#include "orrery/analyze/operator_work.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using trace::CopyKind;
using trace::KernelClass;
using trace::Trace;

std::int64_t WaitOf(const RunView& run, const DeviceView& device, RowId activity) {
  const RowId collective = run.TraceOf(device).activities.collective[activity];
  return collective == kNoRow ? 0 : run.waits.WaitOfRow(run.matched, device.rank_index, collective);
}

using Totals = std::vector<KernelTotal>;

// Kernels of one name and class.
Totals TotalsOf(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const IntervalSet& selected = run.selected[device.rank_index];
  std::vector<std::uint32_t> slots(trace.strings.size(), 0);  // place in `totals` + 1, of a name
  std::vector<std::uint32_t> earlier;  // for each total, the slot of its name with another class
  Totals totals;
  for (const RowId row : device.activities) {
    const KernelClass kernel_class = run.ClassOf(device, row);
    if (kernel_class == KernelClass::kMemory) {
      continue;
    }
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const std::int64_t duration_ns = trace.activities.duration_ns[row];
    const std::int64_t inside_ns = selected.LengthWithin(begin_ns, begin_ns + duration_ns);
    if (inside_ns == 0 && (duration_ns > 0 || !run.IsSelected(device.rank_index, begin_ns))) {
      continue;
    }
    std::uint32_t& latest = slots[static_cast<std::size_t>(trace.activities.name[row])];
    std::uint32_t slot = latest;
    while (slot != 0 && totals[slot - 1].kernel_class != kernel_class) {
      slot = earlier[slot - 1];
    }
    if (slot == 0) {
      totals.push_back(
          {.name = trace.Text(trace.activities.name[row]), .kernel_class = kernel_class});
      slot = static_cast<std::uint32_t>(totals.size());
      earlier.push_back(std::exchange(latest, slot));
    }
    totals[slot - 1].durations.Add(duration_ns, inside_ns);
    totals[slot - 1].wait_ns += std::min(WaitOf(run, device, row), inside_ns);
  }
  return totals;
}

// Longest total first, ties by name.
void Sort(Totals& totals) {
  std::ranges::stable_sort(totals, {}, [](const KernelTotal& total) {
    return std::pair(-total.durations.sum_ns, total.name);
  });
}

// By name and class.
Totals TotalsOf(const RunView& run) {
  std::vector<Totals> per_device(run.devices.size());
  ParallelFor(run.devices.size(), run.options.threads,
              [&](std::size_t i) { per_device[i] = TotalsOf(run, run.devices[i]); });
  Totals totals;
  for (const Totals& device : per_device) {
    totals.insert(totals.end(), device.begin(), device.end());
  }
  Sort(totals);
  return totals;
}

// Adds up those of one name; the class is that of the first.
Totals SumByName(const Totals& parts) {
  tsl::robin_map<std::string_view, std::size_t> places;
  Totals totals;
  for (const KernelTotal& part : parts) {
    const auto [place, is_new] = places.try_emplace(part.name, totals.size());
    if (is_new) {
      totals.push_back({.name = part.name, .kernel_class = part.kernel_class});
    }
    totals[place->second].durations += part.durations;
    totals[place->second].wait_ns += part.wait_ns;
  }
  Sort(totals);
  return totals;
}

constexpr std::array<std::string_view, kNumCopyKinds> kKindNames{"set",  "HtoD", "DtoH", "HtoA",
                                                                 "AtoH", "AtoA", "AtoD", "DtoA",
                                                                 "DtoD", "HtoH", "PtoP", "unknown"};

std::optional<KernelWork> CostModelWork(const Trace& trace, RowId row) {
  const std::string_view fields = trace.Text(trace.activities.extra[row]);
  if (fields.empty()) {
    return std::nullopt;
  }
  auto flops = JsonNumber(fields, "model_flops");
  if (!flops) {
    flops = JsonNumber(fields, "flops");
  }
  const auto bytes = JsonNumber(fields, "bytes_accessed");
  if (!flops && !bytes) {
    return std::nullopt;
  }
  return KernelWork{
      .activity = row, .flops = flops, .bytes = bytes, .source = WorkSource::kCostModel};
}

std::vector<RowId> ComputeKernels(const RunView& run, const DeviceView& device) {
  std::vector<RowId> kernels;
  ForEachSelected(run, device, [&](RowId row) {
    if (trace::IsCompute(run.ClassOf(device, row))) {
      kernels.push_back(row);
    }
  });
  return kernels;
}

}  // namespace

bool IsMainClass(KernelClass kernel_class) {
  return kernel_class == KernelClass::kGemm || kernel_class == KernelClass::kConvolution ||
         kernel_class == KernelClass::kAttention;
}

std::vector<KernelTotal> TotalKernels(const RunView& run) {
  return SumByName(TotalsOf(run));
}

std::vector<KernelTotal> TotalKernelClasses(const RunView& run) {
  Totals totals = TotalsOf(run);
  for (KernelTotal& total : totals) {
    total.name = KernelClassName(total.kernel_class);
  }
  return SumByName(totals);
}

CopyKind CopyKindOf(const trace::Activities& activities, RowId row) {
  if (activities.kind[row] == trace::ActivityKind::kMemset) {
    return CopyKind::kNone;
  }
  const CopyKind recorded = activities.copy_kind[row];
  return recorded == CopyKind::kNone ? CopyKind::kUnknown : recorded;
}

std::string_view CopyKindName(CopyKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::string_view WorkSourceName(WorkSource source) {
  return source == WorkSource::kCostModel ? "XLA cost model" : "operator shapes";
}

std::vector<KernelWork> KnownWork(const RunView& run, const DeviceView& device) {
  const Trace& trace = run.TraceOf(device);
  const std::vector<RowId> kernels = ComputeKernels(run, device);
  OperatorsOfCalls operators(trace);
  const auto call_of = [&](RowId row) {
    const RowId op = trace.activities.host_op[row];
    return op == kNoRow ? op : operators.CallOfKernel(op, run.ClassOf(device, row));
  };
  // The kernel of each operator call that has its work: [HostOps row].
  std::vector<RowId> main_of_op(trace.host_ops.size(), kNoRow);
  const auto rank_of = [&](RowId row) {
    return std::pair(IsMainClass(run.ClassOf(device, row)), trace.activities.duration_ns[row]);
  };
  for (const RowId row : kernels) {
    const RowId op = call_of(row);
    if (op != kNoRow && (main_of_op[op] == kNoRow || rank_of(row) > rank_of(main_of_op[op]))) {
      main_of_op[op] = row;
    }
  }
  std::vector<KernelWork> known;
  for (const RowId row : kernels) {
    if (const auto work = CostModelWork(trace, row)) {
      known.push_back(*work);
      continue;
    }
    const RowId op = call_of(row);
    if (op == kNoRow || main_of_op[op] != row) {
      continue;
    }
    if (const auto work = WorkOfCall(operators.Of(op))) {
      known.push_back({.activity = row,
                       .flops = work->flops,
                       .bytes = work->bytes,
                       .type = work->type,
                       .source = WorkSource::kShapes});
    }
  }
  return known;
}

void WorkCoverage::Describe(std::string_view count_key, std::int64_t count, Value& detail) const {
  detail.Set("source",
             WorkSourceName(is_from_shapes ? WorkSource::kShapes : WorkSource::kCostModel));
  detail.Set(count_key, count);
  detail.Set("covered_percent", compute_ns == 0 ? Value()
                                                : Value(100.0 * static_cast<double>(known_ns) /
                                                        static_cast<double>(compute_ns)));
  if (known_ns < compute_ns) {
    detail.Set("bound", "lower");
  }
}

WorkTotal TotalWork(const RunView& run, const DeviceView& device) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  WorkTotal total;
  for (const RowId row : ComputeKernels(run, device)) {
    total.compute_ns += activities.duration_ns[row];
    ++total.num_kernels;
  }
  for (const KernelWork& work : KnownWork(run, device)) {
    const std::int64_t duration_ns = activities.duration_ns[work.activity];
    total.is_from_shapes |= work.source == WorkSource::kShapes;
    if (work.flops) {
      total.flops += *work.flops;
      total.flops_ns += duration_ns;
      ++total.kernels_with_flops;
    }
    if (work.bytes) {
      total.bytes += *work.bytes;
      total.bytes_ns += duration_ns;
      ++total.kernels_with_bytes;
    }
  }
  return total;
}

}  // namespace orrery::analyze
