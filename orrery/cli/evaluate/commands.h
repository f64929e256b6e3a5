#pragma once

#include "orrery/cli/verb.h"

namespace orrery::cli {

// Subcommands of `orrery evaluate`, one function and one file each.

void AddEvaluateCollectivesCommand(Verb& evaluate);
void AddEvaluateOverlapCommand(Verb& evaluate);

}  // namespace orrery::cli
