#include "orrery/cli/program.h"

#include <string>

#include "orrery/api/version.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

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
  AddMcpCommand(program);
  AddCaptureCommands(program);
  AddValidateCommand(program);
  AddInitCommand(program);
  AddListCommand(program);
  AddCompletionCommand(program);
  AddHelpCommand(program);
}

}  // namespace

std::string ProgramVersion() {
  return std::string("orrery ").append(api::Version());
}

int RunProgram(int argc, char** argv) {
  return RunCommandLine(argc, argv,
                        "Orrery: records, explains and predicts machine-learning training",
                        ProgramVersion(), AddVerbs);
}

}  // namespace orrery::cli
