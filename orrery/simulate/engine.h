#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// Says how long tasks take where that depends on when they run. What shares a GPU or a link
/// implements it; without one a task takes the time that its program says.
class TaskStretch {
 public:
  virtual ~TaskStretch() = default;

  /// Returns the time of a task that begins at `begin_ps`.
  [[nodiscard]] virtual std::int64_t DurationPs(const workload::Program& program,
                                                workload::TaskId task,
                                                std::int64_t begin_ps) const = 0;
};

struct RunOptions {
  /// How often the program runs, each lane one repetition after the other. The host runs ahead of
  /// the GPU over the ends of steps, so the first repetitions are not like the rest.
  int repetitions = 1;
  /// How many launched tasks a stream holds before a launch waits for a place.
  std::int64_t queue_depth = 1024;
  const TaskStretch* stretch = nullptr;
};

/// When the tasks ran; task t of repetition r has index r * num_tasks + t.
struct Timeline {
  std::int64_t num_tasks = 0;
  int repetitions = 0;
  std::vector<std::int64_t> begin_ps;
  std::vector<std::int64_t> end_ps;

  /// The first index of a repetition.
  [[nodiscard]] std::size_t First(int repetition) const {
    return static_cast<std::size_t>(repetition) * static_cast<std::size_t>(num_tasks);
  }

  bool operator==(const Timeline&) const = default;
};

/// Runs a program: a discrete-event simulation in integer picoseconds. A task begins when its lane
/// is free and all it depends on is done; lanes take their tasks in order. A launch into a full
/// queue ends when the stream has begun enough of what it holds.
///
/// One heap entry for each running task; O(tasks · log lanes + edges). The same program gives the
/// same timeline everywhere: ties go to the earlier start. Fails when tasks wait for each other in
/// a circle, and names one.
[[nodiscard]] Result<Timeline> Run(const workload::Program& program,
                                   const RunOptions& options = {});

}  // namespace orrery::simulate
