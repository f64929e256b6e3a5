#include "orrery/simulate/held_up_totals.h"

#include <algorithm>
#include <cstddef>

namespace orrery::simulate {

HeldUpTotals HeldUpTotalsOf(const Performance& performance, PlayerId player) {
  HeldUpTotals totals;
  const std::size_t first = performance.offsets[player];
  auto task = std::ranges::lower_bound(performance.held_up, first, {}, &HeldUpTask::index);
  for (; task != performance.held_up.end() && task->index < performance.offsets[player + 1];
       ++task) {
    const std::int64_t end_ps = performance.end_ps[task->index];
    totals.delayed_ps += task->delayed_ps;
    if (performance.transfer_ps[task->index] != kNeverPs) {
      ++totals.transfers;
      totals.transfers_alone_ps += task->alone_ps;
      totals.transfers_ps += end_ps - performance.transfer_ps[task->index];
    } else {
      ++totals.kernels;
      totals.kernels_alone_ps += task->alone_ps;
      totals.kernels_ps += end_ps - performance.begin_ps[task->index] - task->delayed_ps;
    }
  }
  return totals;
}

}  // namespace orrery::simulate
