#pragma once

#include <memory>

#include "orrery/api/session.h"
#include "orrery/api/simulate.h"
#include "orrery/api/simulate/answer.h"
#include "orrery/api/simulate/engine_input.h"
#include "orrery/api/simulate/job_run.h"
#include "orrery/base/error.h"

namespace orrery::api {

/// Simulates the program of another tool, or the traced ranks of a job. `tries_changes`: also looks
/// for what would make it faster.
[[nodiscard]] Result<std::shared_ptr<SimulatedRun>> SimulateProgram(const Session& session,
                                                                    const SimulateRequest& request,
                                                                    SimulateInput kind,
                                                                    const EngineInput& engine,
                                                                    bool tries_changes);

}  // namespace orrery::api
