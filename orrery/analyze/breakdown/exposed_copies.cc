#include "orrery/analyze/breakdown/exposed_copies.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

/// When copies of one kind run on a device.
struct Running {
  IntervalSet all;
  IntervalSet sized;
  std::int64_t bytes = 0;
};

std::map<trace::CopyKind, Running> CopiesOf(const RunView& run, const DeviceView& device) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  std::map<trace::CopyKind, Running> copies;
  ForEachSelected(run, device, [&](RowId row) {
    if (activities.kind[row] != trace::ActivityKind::kMemcpy) {
      return;
    }
    Running& running = copies[activities.copy_kind[row]];
    const std::int64_t begin_ns = activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + activities.duration_ns[row];
    running.all.Append(begin_ns, end_ns);
    if (activities.bytes[row] > 0) {
      running.sized.Append(begin_ns, end_ns);
      running.bytes += activities.bytes[row];
    }
  });
  return copies;
}

}  // namespace

std::vector<ExposedCopies> FindExposedCopies(const RunView& run) {
  std::map<trace::CopyKind, ExposedCopies> by_kind;
  for (const DeviceView& device : run.devices) {
    const IntervalSet hidden = Union(device.compute, device.communication);
    for (const auto& [kind, running] : CopiesOf(run, device)) {
      ExposedCopies& copies = by_kind[kind];
      copies.kind = kind;
      // Time after the end of the window belongs to no selected step.
      copies.exposed_ns += Difference(Intersection(running.all, device.memory), hidden).length_ns();
      copies.busy_ns += running.all.length_ns();
      copies.bytes += running.bytes;
      copies.sized_ns += running.sized.length_ns();
    }
  }
  std::vector<ExposedCopies> sorted;
  for (const auto& [kind, copies] : by_kind) {
    sorted.push_back(copies);
  }
  std::ranges::stable_sort(sorted, std::greater{}, &ExposedCopies::exposed_ns);
  return sorted;
}

}  // namespace orrery::analyze
