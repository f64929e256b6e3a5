#include "orrery/cli/command.h"

#include <memory>

#include "orrery/cli/info/document.h"
#include "orrery/cli/output.h"
#include "orrery/cli/run_options.h"

namespace orrery::cli {
namespace {

struct InfoArguments {
  RunArguments run;
  OutputOptions output;
};

Result<int> Info(const InfoArguments& arguments) {
  ORRERY_TRY(const ingest::Run run, ReadRunWithProgress(arguments.run));
  ORRERY_TRY_STATUS(Deliver(InfoDocument(run), arguments.output));
  return run.is_partial() ? kExitPartial : kExitOk;
}

}  // namespace

void AddInfoCommand(Verb& app) {
  auto arguments = std::make_shared<InfoArguments>();
  Verb verb = app.AddVerb("info", "Look at traces: ranks, counts, problems");
  verb.Footer(
      "Reads files and folders as one run. Formats are found from content: Kineto JSON, PyTorch\n"
      "execution traces, Nsight Systems SQLite exports, nccl-tests logs, workload cards, .orr;\n"
      "plain, gzip or zstd.\n\n"
      "Exit status: 0 whole, 2 unusable, 3 partial (the problems say what is lost).\n\n"
      "Examples:\n"
      "  orrery info trace.json.gz\n"
      "  orrery info run/ --json | python3 -m json.tool");
  verb.AddOption("PATH", arguments->run.paths, "files and folders of one run").Required();
  AddOutputOptions(verb, arguments->output);
  AddRunOptions(verb, arguments->run);
  verb.OnRun([arguments] { return Info(*arguments); });
}

}  // namespace orrery::cli
