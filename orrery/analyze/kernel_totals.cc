#include "orrery/analyze/kernel_totals.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#include <tsl/robin_map.h>

#include "orrery/base/parallel.h"

namespace orrery::analyze {
namespace {

using trace::CopyKind;
using trace::KernelClass;

std::int64_t WaitOf(const RunView& run, const DeviceView& device, RowId activity) {
  const RowId collective = run.TraceOf(device).activities.collective[activity];
  return collective == kNoRow ? 0 : run.waits.WaitOfRow(run.matched, device.rank_index, collective);
}

std::vector<KernelTotal> TotalsOf(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const IntervalSet& selected = run.selected[device.rank_index];
  std::vector<std::uint32_t> slots(trace.strings.size(), 0);  // place in `totals` + 1
  std::vector<KernelTotal> totals;
  for (const RowId row : device.activities) {
    if (run.ClassOf(device, row) == KernelClass::kMemory) {
      continue;
    }
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const std::int64_t duration_ns = trace.activities.duration_ns[row];
    const std::int64_t inside_ns = selected.LengthWithin(begin_ns, begin_ns + duration_ns);
    if (inside_ns == 0 && (duration_ns > 0 || !run.IsSelected(device.rank_index, begin_ns))) {
      continue;
    }
    std::uint32_t& slot = slots[static_cast<std::size_t>(trace.activities.name[row])];
    if (slot == 0) {
      totals.push_back({.name = trace.Text(trace.activities.name[row])});
      slot = static_cast<std::uint32_t>(totals.size());
    }
    KernelTotal& total = totals[slot - 1];
    total.kernel_class = run.ClassOf(device, row);
    total.durations.Add(duration_ns, inside_ns);
    total.wait_ns += std::min(WaitOf(run, device, row), inside_ns);
  }
  return totals;
}

constexpr std::array<std::string_view, kNumCopyKinds> kKindNames{"set",  "HtoD", "DtoH", "HtoA",
                                                                 "AtoH", "AtoA", "AtoD", "DtoA",
                                                                 "DtoD", "HtoH", "PtoP", "unknown"};

}  // namespace

std::vector<KernelTotal> TotalKernels(const RunView& run) {
  std::vector<std::vector<KernelTotal>> per_device(run.devices.size());
  ParallelFor(run.devices.size(), run.options.threads,
              [&](std::size_t i) { per_device[i] = TotalsOf(run, run.devices[i]); });
  tsl::robin_map<std::string_view, std::size_t> places;
  std::vector<KernelTotal> totals;
  for (const std::vector<KernelTotal>& device : per_device) {
    for (const KernelTotal& total : device) {
      const auto [place, is_new] = places.try_emplace(total.name, totals.size());
      if (is_new) {
        totals.push_back({.name = total.name});
      }
      KernelTotal& sum = totals[place->second];
      sum.kernel_class = total.kernel_class;
      sum.durations += total.durations;
      sum.wait_ns += total.wait_ns;
    }
  }
  std::ranges::sort(totals, {}, [](const KernelTotal& total) {
    return std::pair(-total.durations.sum_ns, total.name);
  });
  return totals;
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

}  // namespace orrery::analyze
