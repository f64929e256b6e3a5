#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

struct RunOptions {
  /// How often the program runs, each lane one repetition after the other. The host runs ahead of
  /// the GPU over the ends of steps, so the first repetitions are not like the rest.
  int repetitions = 1;
  /// How many launched tasks a stream holds before a launch waits for a place.
  std::int64_t queue_depth = 1024;
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

/// Runs the program of one rank alone: Play with one player. Communication takes the time that the
/// program says. Fails when tasks wait for each other in a circle, and names one.
[[nodiscard]] Result<Timeline> Run(const workload::Program& program,
                                   const RunOptions& options = {});

}  // namespace orrery::simulate
