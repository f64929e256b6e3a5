#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::simulate {

/// Sources of the costs of a recorded job.
struct RecordedJobSources {
  CommunicationTimes* times = nullptr;
  const LinkClass* links = nullptr;  // of the machine that `times` knows
  const hardware::Gpu* gpu = nullptr;
  const kernel::CostModel* costs = nullptr;   // of kernels on the GPU; nullptr: as recorded
  const workload::HostModel* host = nullptr;  // nullptr: see PredictRecordedJob
};

/// One rank's step.
struct RankStep {
  std::int32_t rank = 0;
  std::int64_t begin_ps = 0;     // after the first rank, as recorded; 0 without recordings
  std::int64_t step_ps = 0;      // predicted, from its begin to the end of its host's work
  std::int64_t waiting_ps = 0;   // of it: its collectives wait for other ranks
  std::int64_t measured_ps = 0;  // 0 without a recording

  bool operator==(const RankStep&) const = default;
};

enum class HostSource : std::uint8_t {
  kGiven,
  kOtherRanks,  // recordings of the half of the ranks to which a rank does not belong
  kShared,      // part of the program
};

struct RecordedJob {
  std::vector<RankStep> ranks;
  HostSource host = HostSource::kGiven;
  workload::PricingSummary pricing;        // over all ranks
  std::vector<std::string> unknown_names;  // calls that are estimated by their bytes
  trace::ProblemLog problems;
};

/// Predicts one step of a job from the execution traces of all its ranks: each rank's host runs its
/// calls, kernels take what models say (or what was recorded), and collectives start when the last
/// rank is there.
///
/// Where ranks have recordings too, two things are taken from these. Ranks begin the step as far
/// from each other as recorded, since what one waits for the others depends on that and no
/// execution trace tells. And without a given host model, the step that was recorded is predicted,
/// profiler and all: costs are the means of the recordings of other ranks, never of the rank itself
/// (ranks of even and of odd place learn from each other). Clocks must be aligned.
[[nodiscard]] Result<RecordedJob> PredictRecordedJob(const trace::TraceSet& set,
                                                     const RecordedJobSources& sources);

}  // namespace orrery::simulate
