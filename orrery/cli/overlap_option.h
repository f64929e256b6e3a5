#pragma once

#include <memory>


#include "orrery/base/error.h"
#include "orrery/cli/verb.h"
#include "orrery/overlap/model.h"
#include "orrery/simulate/simulation.h"

namespace orrery::cli {

/// Adds --overlap none|analytic|model to a verb that simulates.
void AddOverlapOption(Verb& verb, simulate::OverlapKind& overlap);

/// Loads what --overlap model asks: the model that `measure overlap --pipeline` installed for this
/// user, or the one that is part of the program; nothing for the other kinds.
/// `options.overlap_model` is then the model, which must outlive the simulation.
[[nodiscard]] Result<std::shared_ptr<const overlap::Model>> LoadOverlapModel(
    simulate::SimulationOptions& options);

}  // namespace orrery::cli
