#include "orrery/simulate/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "orrery/simulate/analytic_overlap.h"
#include "orrery/simulate/group_times.h"

namespace orrery::simulate {

Result<Simulation> Simulate(const workload::Job& job, const kernel::CostModel& costs,
                            const SimulationOptions& options) {
  Simulation simulation;
  ORRERY_TRY(workload::GeneratedJob generated, workload::Generate(job, costs));
  simulation.generated = std::make_unique<workload::GeneratedJob>(std::move(generated));
  workload::Ensemble& ensemble = simulation.generated->ensemble;
  for (const SlowRank& slow : options.slow_ranks) {
    if (slow.rank >= ensemble.num_ranks()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("there is no rank {}; the job has {} ranks, counted from 0",
                              slow.rank, ensemble.num_ranks()));
    }
    ensemble.slowness_of_rank[slow.rank] = slow.factor;
  }
  const IslandLinkClass links(static_cast<std::uint32_t>(std::max(job.cluster.island.gpus, 1)));
  simulation.cast = options.folds ? Fold(ensemble, links) : Unfolded(ensemble, links);
  ORRERY_TRY(const std::unique_ptr<ClusterTimes> times, ClusterTimes::Of(job));
  PlayOptions play;
  play.jitter = options.jitter;
  const AnalyticOverlap overlap;
  play.rates = options.has_overlap ? &overlap : nullptr;
  ORRERY_TRY(simulation.performance, Play(simulation.cast, *times, play));
  return simulation;
}

}  // namespace orrery::simulate
