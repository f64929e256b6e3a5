#include <string>

#include "orrery/base/allocation.h"
#include "orrery/cli/command.h"

namespace orrery::cli {
namespace {

void AddVerbs(Verb& program) {
  AddInfoCommand(program);
  AddAnalyzeCommand(program);
  AddMemoryCommand(program);
  AddConvertCommand(program);
  AddDiffCommand(program);
  AddEvaluateCommand(program);
  AddFitCommand(program);
  AddPredictCommand(program);
  AddSimulateCommand(program);
  AddTraceCommand(program);
  AddCaptureCommand(program);
  AddMeasureCommand(program);
  AddDoctorCommand(program);
  AddValidateCommand(program);
}

}  // namespace
}  // namespace orrery::cli

// NOLINTNEXTLINE(bugprone-exception-escape): CLI11 throws for mistakes of ours in the set-up only.
int main(int argc, char** argv) {
  orrery::ReturnFreedMemoryEarly();
  return orrery::cli::RunCommandLine(
      argc, argv, "Orrery: records, explains and predicts machine-learning training",
      std::string("orrery ") + ORRERY_VERSION, orrery::cli::AddVerbs);
}
