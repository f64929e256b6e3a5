#pragma once

#include "orrery/cli/verb.h"


namespace orrery::cli {

// What `orrery predict` can predict, one function and one file each.

/// `predict TRACE` has no word of its own: its options belong to the verb.
void AddPredictTraceCommand(Verb& predict);

void AddPredictCollectiveCommand(Verb& predict);
void AddPredictKernelCommand(Verb& predict);
void AddPredictOverlapCommand(Verb& predict);

}  // namespace orrery::cli
