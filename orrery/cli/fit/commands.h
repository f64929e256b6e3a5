#pragma once

#include "orrery/cli/verb.h"


namespace orrery::cli {

// What `orrery fit` can fit, one function and one file each.

void AddFitCollectivesCommand(Verb& fit);
void AddFitFrameworksCommand(Verb& fit);
void AddFitHostCommand(Verb& fit);
void AddFitKernelsCommand(Verb& fit);
void AddFitOverlapCommand(Verb& fit);
void AddFitSiblingsCommand(Verb& fit);

}  // namespace orrery::cli
