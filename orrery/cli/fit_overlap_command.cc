#include <memory>

#include "orrery/base/error.h"
#include "orrery/cli/command.h"
#include "orrery/cli/fit_commands.h"
#include "orrery/cli/fit_overlap_traces.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {
namespace {

int RunFitOverlap(const FitOverlapTracesArguments& arguments) {
  const Result<int> status = FitOverlapFromTraces(arguments);
  return status ? *status : PrintError(status.error());
}

}  // namespace

void AddFitOverlapCommand(CLI::App& fit, int& status) {
  auto arguments = std::make_shared<FitOverlapTracesArguments>();
  CLI::App* const verb =
      fit.add_subcommand("overlap", "How kernels slow each other down, from recordings");
  verb->add_option("--from-traces", arguments->runs,
                   "the run without communication (or a profile of its kernels: CSV of Nsight "
                   "Compute), then the run with it")
      ->type_name("A B")
      ->expected(2)
      ->required();
  verb->add_option("--counters", arguments->counters,
                   "CSV of Nsight Compute (details or raw page) with counters of the kernels")
      ->type_name("FILE");
  verb->add_option("-o,--output", arguments->output,
                   "write the tables into this folder; docs/formats/overlap-traces.md")
      ->type_name("DIR");
  verb->add_flag("--json", arguments->as_json, "print one JSON document");
  AddRunOptions(*verb, arguments->reading);
  verb->callback([arguments, &status] { status = RunFitOverlap(*arguments); });
}

}  // namespace orrery::cli
