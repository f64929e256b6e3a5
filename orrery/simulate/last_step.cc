#include "orrery/simulate/last_step.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace orrery::simulate {
namespace {

std::int64_t EndOf(const Timeline& timeline, int repetition) {
  std::int64_t end_ps = std::numeric_limits<std::int64_t>::min();
  for (RankClassId rank_class = 0; rank_class + 1 < timeline.offsets.size(); ++rank_class) {
    const std::size_t first = timeline.First(rank_class, repetition);
    const std::size_t end = timeline.First(rank_class, repetition + 1);
    for (std::size_t index = first; index < end; ++index) {
      end_ps = std::max(end_ps, timeline.end_ps[index]);
    }
  }
  return end_ps;
}

}  // namespace

Timeline LastStep(Timeline timeline) {
  const int last = timeline.repetitions - 1;
  if (last == 0) {
    return timeline;
  }
  const std::int64_t begin_ps = EndOf(timeline, last - 1);
  Timeline step;
  step.offsets.push_back(0);
  for (RankClassId rank_class = 0; rank_class + 1 < timeline.offsets.size(); ++rank_class) {
    const std::size_t first = timeline.First(rank_class, last);
    const std::size_t end = timeline.offsets[rank_class + 1];
    const std::size_t new_first = step.begin_ps.size();
    for (std::size_t index = first; index < end; ++index) {
      const std::int64_t transfer_ps = timeline.transfer_ps[index];
      step.begin_ps.push_back(timeline.begin_ps[index] - begin_ps);
      step.end_ps.push_back(timeline.end_ps[index] - begin_ps);
      step.transfer_ps.push_back(transfer_ps == kNeverPs ? kNeverPs : transfer_ps - begin_ps);
    }
    for (DelayedTask task : timeline.delayed) {
      if (task.index >= first && task.index < end) {
        task.index += new_first - first;
        step.delayed.push_back(task);
      }
    }
    step.offsets.push_back(step.begin_ps.size());
  }
  step.num_events = timeline.num_events;
  return step;
}

}  // namespace orrery::simulate
