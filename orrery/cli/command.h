#pragma once

#include <CLI/CLI.hpp>

namespace orrery::cli {

/// What the program ends with.
enum ExitStatus : int {
  kExitOk = 0,
  kExitWorse = 1,     // a comparison found what it was told to look for
  kExitUnusable = 2,  // wrong input; one sentence on standard error says which
  kExitPartial = 3,   // something was kept and something lost; the output says what
};

// One function for each verb: adds its options to `app` and stores what running it returns in
// `status`. They are listed in main.cc.

void AddInfoCommand(CLI::App& app, int& status);
void AddAnalyzeCommand(CLI::App& app, int& status);
void AddCaptureCommand(CLI::App& app, int& status);
void AddConvertCommand(CLI::App& app, int& status);
void AddDiffCommand(CLI::App& app, int& status);
void AddEvaluateCommand(CLI::App& app, int& status);
void AddFitCommand(CLI::App& app, int& status);
void AddPredictCommand(CLI::App& app, int& status);
void AddMemoryCommand(CLI::App& app, int& status);
void AddMeasureCommand(CLI::App& app, int& status);
void AddDoctorCommand(CLI::App& app, int& status);
void AddSimulateCommand(CLI::App& app, int& status);
void AddTraceCommand(CLI::App& app, int& status);
void AddValidateCommand(CLI::App& app, int& status);

}  // namespace orrery::cli
