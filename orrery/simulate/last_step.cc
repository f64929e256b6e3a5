#include "orrery/simulate/last_step.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace orrery::simulate {
namespace {

std::int64_t EndOf(const Performance& performance, int repetition) {
  std::int64_t end_ps = std::numeric_limits<std::int64_t>::min();
  for (PlayerId player = 0; player + 1 < performance.offsets.size(); ++player) {
    const std::size_t first = performance.First(player, repetition);
    const std::size_t end = performance.First(player, repetition + 1);
    for (std::size_t index = first; index < end; ++index) {
      end_ps = std::max(end_ps, performance.end_ps[index]);
    }
  }
  return end_ps;
}

}  // namespace

Performance LastStep(Performance performance) {
  const int last = performance.repetitions - 1;
  if (last == 0) {
    return performance;
  }
  const std::int64_t begin_ps = EndOf(performance, last - 1);
  Performance step;
  step.offsets.push_back(0);
  for (PlayerId player = 0; player + 1 < performance.offsets.size(); ++player) {
    const std::size_t first = performance.First(player, last);
    const std::size_t end = performance.offsets[player + 1];
    const std::size_t new_first = step.begin_ps.size();
    for (std::size_t index = first; index < end; ++index) {
      const std::int64_t transfer_ps = performance.transfer_ps[index];
      step.begin_ps.push_back(performance.begin_ps[index] - begin_ps);
      step.end_ps.push_back(performance.end_ps[index] - begin_ps);
      step.transfer_ps.push_back(transfer_ps == kNeverPs ? kNeverPs : transfer_ps - begin_ps);
    }
    for (HeldUpTask task : performance.held_up) {
      if (task.index >= first && task.index < end) {
        task.index += new_first - first;
        step.held_up.push_back(task);
      }
    }
    step.offsets.push_back(step.begin_ps.size());
  }
  step.num_events = performance.num_events;
  return step;
}

}  // namespace orrery::simulate
