#include <memory>


#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/fit/commands.h"
#include "orrery/cli/fit/overlap_pairs.h"
#include "orrery/cli/fit/overlap_traces.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {
namespace {

struct FitOverlapArguments {
  FitOverlapTracesArguments traces;
  FitOverlapPairsArguments pairs;
};

Result<int> FitOverlap(FitOverlapArguments& arguments) {
  if (!arguments.traces.runs.empty()) {
    if (arguments.pairs.counters.size() > 1) {
      return Fail(Error::Kind::kInvalidInput, "--from-traces takes one file of --counters");
    }
    if (!arguments.pairs.counters.empty()) {
      arguments.traces.counters = arguments.pairs.counters.front();
    }
    arguments.traces.output = arguments.pairs.output;
    return FitOverlapFromTraces(arguments.traces);
  }
  if (arguments.pairs.paths.empty() || arguments.pairs.output.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "name tables of `orrery measure overlap` and the model to write with -o FILE, or "
                "two recordings with --from-traces A B");
  }
  return FitOverlapPairs(arguments.pairs);
}

}  // namespace

void AddFitOverlapCommand(Verb& fit) {
  auto arguments = std::make_shared<FitOverlapArguments>();
  Verb verb = fit.AddVerb(
      "overlap", "How kernels slow each other down, from measured pairs or from recordings");
  verb.AddOption("DATA", arguments->pairs.paths,
                   "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md");
  verb.AddOption("--from-traces", arguments->traces.runs,
                   "the run without communication (or a profile of its kernels: CSV of Nsight "
                   "Compute), then the run with it")
      .TypeName("A B")
      .NumValues(2);
  verb.AddOption("--counters", arguments->pairs.counters,
                   "counters of the kernels: features/counters.csv, or for --from-traces a CSV of "
                   "Nsight Compute (details or raw page)")
      .TypeName("FILE");
  verb.AddOption("-o,--output", arguments->pairs.output,
                   "the model file to write; for --from-traces the folder of tables")
      .TypeName("PATH");
  verb.AddOption("--seed", arguments->pairs.seed, "of draws (1)");
  verb.AddFlag("--json", arguments->traces.as_json, "of --from-traces: one JSON document");
  AddRunOptions(verb, arguments->traces.reading);
  verb.OnRun([arguments] { return FitOverlap(*arguments); });
}

}  // namespace orrery::cli
