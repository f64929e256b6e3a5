#include "orrery/cli/command.h"
#include "orrery/cli/fit/commands.h"

namespace orrery::cli {

void AddFitCommand(Verb& app) {
  Verb verb = app.AddVerb("fit", "Fit the models that predictions use");
  verb.RequireVerb();
  AddFitKernelsCommand(verb);
  AddFitCollectivesCommand(verb);
  AddFitFrameworksCommand(verb);
  AddFitHostCommand(verb);
  AddFitOverlapCommand(verb);
  AddFitSiblingsCommand(verb);
}

}  // namespace orrery::cli
