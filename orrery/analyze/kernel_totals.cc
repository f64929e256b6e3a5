#include "orrery/analyze/kernel_totals.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>

#include <tsl/robin_map.h>

#include "orrery/base/parallel.h"

namespace orrery::analyze {
namespace {

using trace::KernelClass;

void Merge(KernelTotal& into, const KernelTotal& from) {
  const bool is_new = into.count == 0;
  into.name = from.name;
  into.kernel_class = from.kernel_class;
  into.min_ns = is_new ? from.min_ns : std::min(into.min_ns, from.min_ns);
  into.max_ns = std::max(into.max_ns, from.max_ns);
  into.count += from.count;
  into.sum_ns += from.sum_ns;
  into.wait_ns += from.wait_ns;
  into.sum_of_squares_ns2 += from.sum_of_squares_ns2;
}

std::int64_t WaitOf(const RunView& run, const DeviceView& device, RowId activity) {
  const RowId collective = run.TraceOf(device).activities.collective[activity];
  return collective == kNoRow
             ? 0
             : run.waits.WaitOfRow(run.matched, device.rank_index, collective);
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
      totals.emplace_back();
      slot = static_cast<std::uint32_t>(totals.size());
    }
    Merge(totals[slot - 1], {.name = trace.Text(trace.activities.name[row]),
                             .kernel_class = run.ClassOf(device, row),
                             .count = 1,
                             .sum_ns = inside_ns,
                             .wait_ns = std::min(WaitOf(run, device, row), inside_ns),
                             .min_ns = duration_ns,
                             .max_ns = duration_ns,
                             .sum_of_squares_ns2 = static_cast<double>(duration_ns) *
                                                   static_cast<double>(duration_ns)});
  }
  return totals;
}

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
        totals.emplace_back();
      }
      Merge(totals[place->second], total);
    }
  }
  std::ranges::sort(totals, {},
                    [](const KernelTotal& total) { return std::pair(-total.sum_ns, total.name); });
  return totals;
}

}  // namespace orrery::analyze
