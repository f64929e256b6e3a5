#include "orrery/cli/command.h"
#include "orrery/cli/predict/commands.h"

namespace orrery::cli {

void AddPredictCommand(CLI::App& app, int& status) {
  CLI::App* const verb =
      app.add_subcommand("predict", "The step time of a recorded or traced rank on a GPU");
  AddPredictTraceCommand(*verb, status);
  AddPredictKernelCommand(*verb, status);
  AddPredictCollectiveCommand(*verb, status);
  AddPredictOverlapCommand(*verb, status);
}

}  // namespace orrery::cli
