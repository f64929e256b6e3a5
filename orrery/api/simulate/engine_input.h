#pragma once

#include "orrery/api/session.h"
#include "orrery/api/simulate.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/base/error.h"
#include "orrery/simulate/scenario.h"
#include "orrery/simulate/simulation.h"

namespace orrery::api {

/// Options of the engine as a request has them. They point into `network` and into the session.
struct EngineInput {
  simulate::Scenario scenario = {};
  simulate::SimulationOptions options = {};
  NetworkInput network = {};
};

[[nodiscard]] Result<EngineInput> ReadEngineInput(const Session& session,
                                                  const SimulateRequest& request);

}  // namespace orrery::api
