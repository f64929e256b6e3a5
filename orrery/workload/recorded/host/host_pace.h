#pragma once

#include <cstdint>

#include "orrery/workload/program.h"
#include "orrery/workload/recorded/host/host_model.h"

namespace orrery::workload {

/// The times of a host over those of the host of a model.
struct HostPace {
  double operators = 1;  // the dispatcher, autograd and the allocator
  double program = 1;    // Python between operators
  double launches = 1;

  bool operator==(const HostPace&) const = default;
};

/// The costs of a model on a host of that pace. Numbers and the times of the GPU stay.
[[nodiscard]] HostModel AtPace(const HostModel& model, const HostPace& pace);

/// Scales the times of a program's host threads.
void ScaleHost(const HostPace& factors, Program& program);

/// The time that a profiler adds at the places of an operator that calls operators only, by those
/// that do next to nothing.
struct ProfilerShares {
  double whole_ns = 0;    // inside one that calls nothing
  double start_ns = 0;    // before its first call
  double between_ns = 0;  // between two calls
  double end_ns = 0;      // behind its last call

  bool operator==(const ProfilerShares&) const = default;
};

/// The pace of a host as its recording tells it.
struct RecordedPace {
  double ratio = 1;            // of its times to those of the model, both without a profiler
  double under_profiler = 1;   // the same while the profiler ran
  std::int64_t operators = 0;  // names of operators that were compared; 0: the ratio is not known
  double program_power = 1;    // of the program's own times as recorded over those of the model
  bool has_observer = false;   // of execution traces, which takes ten times a profiler's time
  ProfilerShares profiler = {};
};

/// Compares the launches of operators, and what operators with much work do before they launch,
/// with the costs of a model: the median, by time. `recorded` is a fit to one recording without a
/// profiler's cost (HostFit).
///
/// A profiler empties caches, which makes the host slower while it runs, the more the more it does
/// for an event; and a process is not as fast at each moment. So the ratio is that under the
/// profiler over the usual one of recordings made with the same options, to a power below 1. The
/// program's own times are as recorded where a profiler is alone; an observer of execution traces
/// makes them longer, so they are between those and the model's (data/host/profiled.csv).
[[nodiscard]] RecordedPace PaceOf(const HostModel& recorded, const HostModel& model);

}  // namespace orrery::workload
