#include "orrery/simulate/delay_totals.h"

#include <algorithm>
#include <cstddef>

namespace orrery::simulate {

DelayTotals DelayTotalsOf(const Timeline& timeline, RankClassId rank_class) {
  DelayTotals totals;
  const std::size_t first = timeline.offsets[rank_class];
  auto task = std::ranges::lower_bound(timeline.delayed, first, {}, &DelayedTask::index);
  for (; task != timeline.delayed.end() && task->index < timeline.offsets[rank_class + 1];
       ++task) {
    const std::int64_t end_ps = timeline.end_ps[task->index];
    totals.delayed_ps += task->delayed_ps;
    if (timeline.transfer_ps[task->index] != kNeverPs) {
      ++totals.transfers;
      totals.transfers_alone_ps += task->alone_ps;
      totals.transfers_ps += end_ps - timeline.transfer_ps[task->index];
    } else {
      ++totals.kernels;
      totals.kernels_alone_ps += task->alone_ps;
      totals.kernels_ps += end_ps - timeline.begin_ps[task->index] - task->delayed_ps;
    }
  }
  return totals;
}

}  // namespace orrery::simulate
