#include "orrery/simulate/simulation.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "orrery/simulate/analytic_overlap.h"
#include "orrery/simulate/group_limits.h"
#include "orrery/simulate/group_times.h"

namespace orrery::simulate {
namespace {

Status MarkSlowRanks(const std::vector<SlowRank>& slow_ranks, workload::Ensemble& ensemble) {
  for (const SlowRank& slow : slow_ranks) {
    if (slow.rank >= ensemble.num_ranks()) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("there is no rank {}; the job has {} ranks, counted from 0",
                              slow.rank, ensemble.num_ranks()));
    }
    ensemble.slowness_of_rank[slow.rank] = slow.factor;
  }
  return {};
}

// Where nobody holds a group back, its placement alone tells what it costs.
Cast CastOf(const workload::Job& machine, const workload::Ensemble& ensemble,
            const GroupLimits& limits, bool folds) {
  const IslandLinkClass placed(
      static_cast<std::uint32_t>(std::max(machine.cluster.island.gpus, 1)));
  const LimitedLinkClass limited(placed, limits);
  const LinkClass& links = limits.empty() ? static_cast<const LinkClass&>(placed) : limited;
  return folds ? Fold(ensemble, links) : Unfolded(ensemble, links);
}

}  // namespace

Result<PlayedEnsemble> PlayOn(const workload::Job& machine, workload::Ensemble& ensemble,
                              const SimulationOptions& options) {
  ORRERY_TRY_STATUS(MarkSlowRanks(options.slow_ranks, ensemble));
  ORRERY_TRY(const GroupLimits limits, GroupLimits::Of(machine, options.faults));
  PlayedEnsemble played;
  played.cast = CastOf(machine, ensemble, limits, options.folds);
  ORRERY_TRY(const std::unique_ptr<ClusterTimes> times, ClusterTimes::Of(machine, limits));
  PlayOptions play;
  play.jitter = options.jitter;
  const AnalyticOverlap overlap;
  play.rates = options.has_overlap ? &overlap : nullptr;
  ORRERY_TRY(played.performance, Play(played.cast, *times, play));
  return played;
}

Result<Simulation> Simulate(const workload::Job& job, const kernel::CostModel& costs,
                            const SimulationOptions& options) {
  Simulation simulation;
  ORRERY_TRY(workload::GeneratedJob generated, workload::Generate(job, costs));
  simulation.generated = std::make_unique<workload::GeneratedJob>(std::move(generated));
  ORRERY_TRY(PlayedEnsemble played, PlayOn(job, simulation.generated->ensemble, options));
  simulation.cast = std::move(played.cast);
  simulation.performance = std::move(played.performance);
  return simulation;
}

}  // namespace orrery::simulate
