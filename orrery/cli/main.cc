#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "orrery/base/mapped_file.h"
#include "orrery/base/unfinished_file.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

// Where standard streams are closed, the first files that are opened would take their numbers, and
// text for the user would end up in them. Opened for the wrong direction, every use is an error.
void OccupyStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1) {  // open takes the lowest free number, which is this one
      [[maybe_unused]] const int opened =
          open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

void AddEvaluateVerbs(Verb& program) {
  Verb verb = program.AddVerb("evaluate", "Evaluate cost models on measurements");
  verb.RequireVerb();
  AddEvaluateKernelsCommand(verb);
  AddEvaluateCollectivesCommand(verb);
  AddEvaluateOverlapCommand(verb);
  AddEvaluateJitterCommand(verb);
  AddEvaluateAllCommand(verb);
}

void AddFitVerbs(Verb& program) {
  Verb verb = program.AddVerb("fit", "Fit the models that predictions use");
  verb.RequireVerb();
  AddFitKernelsCommand(verb);
  AddFitCollectivesCommand(verb);
  AddFitFrameworksCommand(verb);
  AddFitHostCommand(verb);
  AddFitJitterCommand(verb);
  AddFitOverlapCommand(verb);
  AddFitPowerCommand(verb);
  AddFitSiblingsCommand(verb);
}

void AddPredictVerbs(Verb& program) {
  Verb verb = program.AddVerb("predict", "The step time of a recorded or traced rank on a GPU");
  AddPredictTraceCommand(verb);
  AddPredictKernelCommand(verb);
  AddPredictCollectiveCommand(verb);
  AddPredictOverlapCommand(verb);
}

void AddVerbs(Verb& program) {
  AddInfoCommand(program);
  AddAnalyzeCommand(program);
  AddMemoryCommand(program);
  AddConvertCommand(program);
  AddDiffCommand(program);
  AddEvaluateVerbs(program);
  AddFitVerbs(program);
  AddPredictVerbs(program);
  AddSimulateCommand(program);
  AddGoodputCommand(program);
  AddSearchCommand(program);
  AddViewCommand(program);
  AddCaptureCommands(program);
  AddValidateCommand(program);
  AddInitCommand(program);
  AddListCommand(program);
  AddCompletionCommand(program);
  AddHelpCommand(program);
}

}  // namespace
}  // namespace orrery::cli

// NOLINTNEXTLINE(bugprone-exception-escape): CLI11 throws for mistakes of ours in the set-up only.
int main(int argc, char** argv) {
  orrery::cli::OccupyStandardStreams();
  orrery::ReturnFreedMemoryEarly();
  orrery::RemoveUnfinishedFilesOnSignals();
  return orrery::cli::RunCommandLine(
      argc, argv, "Orrery: records, explains and predicts machine-learning training",
      std::string("orrery ") + ORRERY_VERSION, orrery::cli::AddVerbs);
}
