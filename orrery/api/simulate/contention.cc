#include <algorithm>
#include <cstdint>

#include "orrery/api/simulate/answer.h"
#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/simulation.h"

namespace orrery::api {

Status AddContention(const simulate::Simulation& simulation, simulate::SimulationOptions options,
                     const SimulateWith& simulate_with, SimulationAnswer& answer) {
  answer.network = simulation.network;
  answer.classes_alone = static_cast<std::uint32_t>(simulation.rank_classes.classes.size());
  const bool is_contended =
      std::ranges::any_of(simulation.timeline.delayed,
                          [](const simulate::DelayedTask& task) { return task.contended_ps > 0; });
  if (answer.is_step_only || simulation.network == simulate::NetworkModel::kAlone ||
      !is_contended) {
    return {};
  }
  answer.is_contended = true;
  options.network.model = simulate::NetworkModel::kAlone;
  if (simulation.network == simulate::NetworkModel::kFlows) {
    options.faults = {};  // links have them, groups do not
  }
  ORRERY_TRY(const simulate::Simulation alone, simulate_with(options));
  // Transfers that end later meet other kernels, and may cost these less: that is no gain of
  // sharing.
  answer.contended_ps = std::max<std::int64_t>(simulation.step_ps() - alone.step_ps(), 0);
  answer.classes_alone = static_cast<std::uint32_t>(alone.rank_classes.classes.size());
  return {};
}

}  // namespace orrery::api
