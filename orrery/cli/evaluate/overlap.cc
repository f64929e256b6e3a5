#include <memory>


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

void AddPairOptions(Verb& verb, EvaluateOverlapPairsArguments& arguments) {
  verb.AddOption("DATA", arguments.paths,
                  "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md");
  verb.AddOption("--counters", arguments.counters, "tables of counters of the same kernels")
      .TypeName("FILE");
  const Option model = verb.AddOption("--model", arguments.model, "evaluate this model on all rows")
          .TypeName("FILE");
  verb.AddOption("--held-out", arguments.held_out,
                  "fit on a part and evaluate the rest: kernel (usual), width, pattern, place, row; "
                  "none: the shipped model on all rows")
      .TypeName("WHAT")
      .Excludes(model)
      .ShowDefault("kernel");
  verb.AddOption("--seed", arguments.seed, "of the split (7)");
  verb.AddOption("--out", arguments.output,
                  "write figures, predictions and the picture into this folder")
      .TypeName("DIR");
}

}  // namespace

void AddEvaluateOverlapCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateOverlapArguments>();
  arguments->pairs.held_out = "kernel";
  Verb verb = evaluate.AddVerb(
      "overlap", "Predicted against measured times of kernels beside communication");
  AddPairOptions(verb, arguments->pairs);
  verb.AddOption("--echo", arguments->echo.folder,
                   "a folder of Echo-slowdown: merged_features.csv, xgb_model.json")
      .TypeName("DIR");
  verb.AddOption("--repeats", arguments->echo.repeats,
                   "of --echo: times that the folds are dealt anew (10)")
      .Range(1, 1'000);
  verb.AddOption("--predictions", arguments->pairs.predictions,
                   "write every row to this CSV (.gz, .zst)")
      .TypeName("FILE");
  verb.AddOption("--svg", arguments->pairs.plot, "draw how the errors are spread")
      .TypeName("FILE");
  verb.AddFlag("--json", arguments->pairs.as_json, "print one JSON document");
  verb.OnRun([arguments] { return EvaluateOverlap(*arguments); });
}

}  // namespace orrery::cli
