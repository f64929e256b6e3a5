#pragma once

#include "orrery/cli/verb.h"

namespace orrery::cli {

// One function for each verb: adds it to the program. They are listed in main.cc.

void AddInfoCommand(Verb& program);
void AddAnalyzeCommand(Verb& program);
void AddCaptureCommand(Verb& program);
void AddConvertCommand(Verb& program);
void AddDiffCommand(Verb& program);
void AddEvaluateCommand(Verb& program);
void AddFitCommand(Verb& program);
void AddPredictCommand(Verb& program);
void AddMemoryCommand(Verb& program);
void AddMeasureCommand(Verb& program);
void AddDoctorCommand(Verb& program);
void AddSimulateCommand(Verb& program);
void AddTraceCommand(Verb& program);
void AddValidateCommand(Verb& program);

}  // namespace orrery::cli
