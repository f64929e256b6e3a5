#pragma once

#include "orrery/cli/verb.h"


namespace orrery::cli {

// What `orrery evaluate` can evaluate beside kernels, one function and one file each.

void AddEvaluateCollectivesCommand(Verb& evaluate);
void AddEvaluateOverlapCommand(Verb& evaluate);

}  // namespace orrery::cli
