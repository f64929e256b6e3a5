#include <memory>

#include <CLI/CLI.hpp>

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

int RunFitOverlap(FitOverlapArguments& arguments) {
  const Result<int> status = FitOverlap(arguments);
  return status ? *status : PrintError(status.error());
}

}  // namespace

void AddFitOverlapCommand(CLI::App& fit, int& status) {
  auto arguments = std::make_shared<FitOverlapArguments>();
  CLI::App* const verb = fit.add_subcommand(
      "overlap", "How kernels slow each other down, from measured pairs or from recordings");
  verb->add_option("DATA", arguments->pairs.paths,
                   "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md");
  verb->add_option("--from-traces", arguments->traces.runs,
                   "the run without communication (or a profile of its kernels: CSV of Nsight "
                   "Compute), then the run with it")
      ->type_name("A B")
      ->expected(2);
  verb->add_option("--counters", arguments->pairs.counters,
                   "counters of the kernels: features/counters.csv, or for --from-traces a CSV of "
                   "Nsight Compute (details or raw page)")
      ->type_name("FILE");
  verb->add_option("-o,--output", arguments->pairs.output,
                   "the model file to write; for --from-traces the folder of tables")
      ->type_name("PATH");
  verb->add_option("--seed", arguments->pairs.seed, "of draws (1)");
  verb->add_flag("--json", arguments->traces.as_json, "of --from-traces: one JSON document");
  AddRunOptions(*verb, arguments->traces.reading);
  verb->callback([arguments, &status] { status = RunFitOverlap(*arguments); });
}

}  // namespace orrery::cli
