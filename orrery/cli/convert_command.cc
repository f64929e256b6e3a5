#include <memory>
#include <string>

#include <fmt/core.h>

#include "orrery/cli/command.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/terminal.h"
#include "orrery/trace/orr/orr.h"

namespace orrery::cli {
namespace {

struct ConvertArguments {
  RunArguments run;
  std::string input;
  std::string output;
};

Status Write(const trace::TraceSet& set, const std::string& path) {
  if (path.ends_with(".orr")) {
    return trace::WriteOrr(set, path, {});
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{}: the name says no format that Orrery writes; use .orr, .json, "
                          ".json.gz, .json.zst or .pftrace",
                          path));
}

int RunConvert(ConvertArguments arguments) {
  arguments.run.paths = {arguments.input};
  const auto run = ReadRunWithProgress(arguments.run);
  if (!run) {
    return PrintError(run.error());
  }
  const Status written = Write(run->set, arguments.output);
  if (!written) {
    return PrintError(written.error());
  }
  return run->is_partial() ? kExitPartial : kExitOk;
}

}  // namespace

void AddConvertCommand(CLI::App& app, int& status) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* const verb = app.add_subcommand("convert", "Translate traces for viewers and for speed");
  verb->add_option("IN", arguments->input, "file or folder of one run")->required();
  verb->add_option("OUT", arguments->output, "file to write")->required();
  AddRunOptions(*verb, arguments->run);
  verb->callback([arguments, &status] { status = RunConvert(*arguments); });
}

}  // namespace orrery::cli
