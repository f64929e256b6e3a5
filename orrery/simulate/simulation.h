#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/overlap/model.h"
#include "orrery/simulate/engine.h"
#include "orrery/simulate/group_limits.h"
#include "orrery/simulate/rank_classes.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// One rank that is slower than the others: its kernels take `factor` times as long.
struct SlowRank {
  workload::Rank rank = 0;
  double factor = 1;
};

/// How kernels that run together slow each other down.
enum class OverlapKind : std::uint8_t {
  kNone,      // not at all
  kAnalytic,  // by the shares they take of a GPU
  kModel,     // by a model of pairs of kernels, which also says who waits for room
};

struct SimulationOptions {
  bool folds = true;
  OverlapKind overlap = OverlapKind::kAnalytic;
  /// Of kModel, must outlive the simulation; several threads ask it. None: arithmetic answers.
  const overlap::Model* overlap_model = nullptr;
  double jitter = 0;
  /// How often programs run before the step that counts, so that hosts are as far ahead of their
  /// GPUs as ever; see LastStep.
  int steps_before = 0;
  std::vector<SlowRank> slow_ranks = {};
  NetworkFaults faults = {};
};

/// Who simulated, and when tasks ran.
struct SimulatedEnsemble {
  RankClasses rank_classes;  // points into the ensemble
  Timeline timeline;
};

/// Simulates the programs of all ranks on the machine of a job: its cluster, its GPUs and what its
/// framework loses of the network. Slow ranks are noted in the ensemble, which must outlive the
/// result.
[[nodiscard]] Result<SimulatedEnsemble> SimulateEnsemble(const workload::Job& machine,
                                                         workload::Ensemble& ensemble,
                                                         const SimulationOptions& options = {});

/// A simulated training step, with all that it was made from.
struct Simulation {
  std::unique_ptr<workload::GeneratedJob> generated;  // `rank classes` points into it
  RankClasses rank_classes;
  Timeline timeline;

  [[nodiscard]] std::int64_t step_ps() const { return timeline.EndPs(); }
};

/// Simulates one training step of a job that has passed CheckJob.
[[nodiscard]] Result<Simulation> Simulate(const workload::Job& job, const kernel::CostModel& costs,
                                          const SimulationOptions& options = {});

}  // namespace orrery::simulate
