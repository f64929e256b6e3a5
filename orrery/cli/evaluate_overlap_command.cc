#include <memory>

#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate_commands.h"
#include "orrery/cli/evaluate_overlap_echo.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {
namespace {

int RunEvaluateOverlap(const EvaluateEchoArguments& arguments) {
  const Result<int> status = EvaluateEchoFolder(arguments);
  return status ? *status : PrintError(status.error());
}

}  // namespace

void AddEvaluateOverlapCommand(CLI::App& evaluate, int& status) {
  auto arguments = std::make_shared<EvaluateEchoArguments>();
  CLI::App* const verb = evaluate.add_subcommand(
      "overlap", "Predicted against measured times of kernels beside communication");
  verb->add_option("--echo", arguments->folder,
                   "a folder of Echo-slowdown: merged_features.csv, xgb_model.json")
      ->type_name("DIR")
      ->required();
  verb->add_option("--repeats", arguments->repeats, "times that the folds are dealt anew (10)")
      ->check(CLI::Range(1, 1'000));
  verb->add_option("--predictions", arguments->predictions,
                   "write every row to this CSV (.gz, .zst)")
      ->type_name("FILE");
  verb->add_option("--svg", arguments->plot, "draw how the errors are spread")->type_name("FILE");
  verb->add_flag("--json", arguments->as_json, "print one JSON document");
  verb->callback([arguments, &status] { status = RunEvaluateOverlap(*arguments); });
}

}  // namespace orrery::cli
