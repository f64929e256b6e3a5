#include <memory>

#include "orrery/cli/command.h"
#include "orrery/cli/info/output.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/terminal.h"

namespace orrery::cli {
namespace {

struct InfoArguments {
  RunArguments run;
  bool as_json = false;
};

int RunInfo(const InfoArguments& arguments) {
  const auto run = ReadRunWithProgress(arguments.run);
  if (!run) {
    return PrintError(run.error());
  }
  Print(arguments.as_json ? InfoJson(*run) : InfoText(*run));
  return run->is_partial() ? kExitPartial : kExitOk;
}

}  // namespace

void AddInfoCommand(CLI::App& app, int& status) {
  auto arguments = std::make_shared<InfoArguments>();
  CLI::App* const verb = app.add_subcommand("info", "Look at traces: ranks, counts, problems");
  verb->footer(
      "Reads files and folders as one run. Formats are found from content: Kineto JSON, PyTorch\n"
      "execution traces, Nsight Systems SQLite exports, nccl-tests logs, workload cards, .orr;\n"
      "plain, gzip or zstd.\n\n"
      "Exit status: 0 whole, 2 unusable, 3 partial (the problems say what is lost).\n\n"
      "Examples:\n"
      "  orrery info trace.json.gz\n"
      "  orrery info run/ --json | python3 -m json.tool");
  verb->add_option("PATH", arguments->run.paths, "files and folders of one run")->required();
  verb->add_flag("--json", arguments->as_json, "print one JSON document");
  AddRunOptions(*verb, arguments->run);
  verb->callback([arguments, &status] { status = RunInfo(*arguments); });
}

}  // namespace orrery::cli
