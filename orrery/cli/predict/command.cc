#include "orrery/cli/command.h"
#include "orrery/cli/predict/commands.h"

namespace orrery::cli {

void AddPredictCommand(Verb& app) {
  Verb verb = app.AddVerb("predict", "The step time of a recorded or traced rank on a GPU");
  AddPredictTraceCommand(verb);
  AddPredictKernelCommand(verb);
  AddPredictCollectiveCommand(verb);
  AddPredictOverlapCommand(verb);
}

}  // namespace orrery::cli
