#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// The nodes of a cluster that jobs get.
enum class JobPlacement : std::uint8_t {
  kPacked,  // one job after the other
  kSpread,  // one node each in turn, until a job has all of its nodes
};

/// A job and its nodes, in the order of its ranks.
struct PlacedJob {
  const workload::Job* job = nullptr;
  std::vector<std::uint32_t> nodes = {};
};

/// Gives jobs whole nodes. All must be of one cluster, and fit on it.
[[nodiscard]] Result<std::vector<PlacedJob>> PlaceJobs(std::span<const workload::Job> jobs,
                                                       JobPlacement placement);

/// Gives each job the nodes that are listed for it; fails where one has too few or two share one.
[[nodiscard]] Result<std::vector<PlacedJob>> PlaceJobsOn(
    std::span<const workload::Job> jobs, const std::vector<std::vector<std::uint32_t>>& nodes);

/// The machine of all of them.
[[nodiscard]] workload::Job MachineOf(std::span<const PlacedJob> jobs);

/// The most steps that a job repeats.
inline constexpr int kMostSteps = 8;

/// The steps of a job that shares a cluster with others.
struct JobTogether {
  int steps = 1;                 // that were simulated: short jobs repeat theirs
  double steps_met = 1;          // of them while every other job ran, too
  std::int64_t alone_ps = 0;     // of one step, on the same nodes without the others
  std::int64_t together_ps = 0;  // with them
  StepSummary summary = {};      // of a step without the others, whose memory is the same
  std::vector<std::string> not_modelled = {};  // a sentence each (NotModelled)
};

/// Simulates jobs together from their first step on. A job whose steps are shorter repeats them
/// until the longest step has ended, at most kMostSteps times. Fails for jobs that do not fit
/// together on the cluster, of different clusters, or with GPUs of several kinds.
[[nodiscard]] Result<std::vector<JobTogether>> SimulateTogether(std::span<const PlacedJob> jobs,
                                                                const kernel::CostModel& costs,
                                                                const SimulationOptions& options);

}  // namespace orrery::simulate
