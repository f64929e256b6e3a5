#include <memory>

#include <CLI/CLI.hpp>

#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate/commands.h"
#include "orrery/cli/evaluate/overlap_echo.h"
#include "orrery/cli/evaluate/overlap_pairs.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {
namespace {

struct EvaluateOverlapArguments {
  EvaluateEchoArguments echo;
  EvaluateOverlapPairsArguments pairs;
};

Result<int> EvaluateOverlap(EvaluateOverlapArguments& arguments) {
  if (!arguments.echo.folder.empty()) {
    arguments.echo.predictions = arguments.pairs.predictions;
    arguments.echo.plot = arguments.pairs.plot;
    arguments.echo.as_json = arguments.pairs.as_json;
    return EvaluateEchoFolder(arguments.echo);
  }
  if (arguments.pairs.paths.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "there is nothing to evaluate by: name tables of `orrery measure overlap`, or a "
                "folder of Echo's with --echo DIR");
  }
  return EvaluateOverlapPairs(arguments.pairs);
}

int RunEvaluateOverlap(EvaluateOverlapArguments& arguments) {
  const Result<int> status = EvaluateOverlap(arguments);
  return status ? *status : PrintError(status.error());
}

void AddPairOptions(CLI::App& verb, EvaluateOverlapPairsArguments& arguments) {
  verb.add_option("DATA", arguments.paths,
                  "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md");
  verb.add_option("--counters", arguments.counters, "tables of counters of the same kernels")
      ->type_name("FILE");
  CLI::Option* const model =
      verb.add_option("--model", arguments.model, "evaluate this model on all rows")
          ->type_name("FILE");
  verb.add_option("--held-out", arguments.held_out,
                  "fit on a part and evaluate the rest: kernel (usual), width, pattern, place, row; "
                  "none: the shipped model on all rows")
      ->type_name("WHAT")
      ->excludes(model)
      ->default_str("kernel");
  verb.add_option("--seed", arguments.seed, "of the split (7)");
  verb.add_option("--out", arguments.output,
                  "write figures, predictions and the picture into this folder")
      ->type_name("DIR");
}

}  // namespace

void AddEvaluateOverlapCommand(CLI::App& evaluate, int& status) {
  auto arguments = std::make_shared<EvaluateOverlapArguments>();
  arguments->pairs.held_out = "kernel";
  CLI::App* const verb = evaluate.add_subcommand(
      "overlap", "Predicted against measured times of kernels beside communication");
  AddPairOptions(*verb, arguments->pairs);
  verb->add_option("--echo", arguments->echo.folder,
                   "a folder of Echo-slowdown: merged_features.csv, xgb_model.json")
      ->type_name("DIR");
  verb->add_option("--repeats", arguments->echo.repeats,
                   "of --echo: times that the folds are dealt anew (10)")
      ->check(CLI::Range(1, 1'000));
  verb->add_option("--predictions", arguments->pairs.predictions,
                   "write every row to this CSV (.gz, .zst)")
      ->type_name("FILE");
  verb->add_option("--svg", arguments->pairs.plot, "draw how the errors are spread")
      ->type_name("FILE");
  verb->add_flag("--json", arguments->pairs.as_json, "print one JSON document");
  verb->callback([arguments, &status] { status = RunEvaluateOverlap(*arguments); });
}

}  // namespace orrery::cli
