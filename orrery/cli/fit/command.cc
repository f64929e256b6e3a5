#include "orrery/cli/command.h"
#include "orrery/cli/fit/commands.h"

namespace orrery::cli {

void AddFitCommand(CLI::App& app, int& status) {
  CLI::App* const verb = app.add_subcommand("fit", "Fit the models that predictions use");
  verb->require_subcommand(1);
  AddFitKernelsCommand(*verb, status);
  AddFitCollectivesCommand(*verb, status);
  AddFitFrameworksCommand(*verb, status);
  AddFitHostCommand(*verb, status);
  AddFitOverlapCommand(*verb, status);
  AddFitSiblingsCommand(*verb, status);
}

}  // namespace orrery::cli
