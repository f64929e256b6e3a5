#include <new>
#include <string>

#include <fmt/core.h>

#include "orrery/base/allocation.h"
#include "orrery/cli/command.h"

namespace {

// CLI11 says of a wrong verb only that one is missing.
bool IsUnknownVerb(const CLI::App& app, int argc, char** argv) {
  const auto is_named = [&](const CLI::App* verb) { return verb->get_name() == argv[1]; };
  return argc > 1 && argv[1][0] != '-' && app.get_subcommands(is_named).empty();
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): CLI11 throws for mistakes of ours in the set-up only.
int main(int argc, char** argv) {
  orrery::ReturnFreedMemoryEarly();
  CLI::App app("Orrery: records, explains and predicts machine-learning training");
  app.set_version_flag("--version", std::string("orrery ") + ORRERY_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  int status = orrery::cli::kExitOk;
  orrery::cli::AddInfoCommand(app, status);
  orrery::cli::AddAnalyzeCommand(app, status);
  orrery::cli::AddMemoryCommand(app, status);
  orrery::cli::AddConvertCommand(app, status);
  orrery::cli::AddDiffCommand(app, status);
  orrery::cli::AddEvaluateCommand(app, status);
  orrery::cli::AddFitCommand(app, status);
  orrery::cli::AddPredictCommand(app, status);
  orrery::cli::AddSimulateCommand(app, status);
  orrery::cli::AddTraceCommand(app, status);
  orrery::cli::AddCaptureCommand(app, status);
  orrery::cli::AddMeasureCommand(app, status);
  orrery::cli::AddDoctorCommand(app, status);
  orrery::cli::AddValidateCommand(app, status);
  if (IsUnknownVerb(app, argc, argv)) {
    fmt::print(stderr, "orrery: no such verb: {} (orrery --help lists them)\n", argv[1]);
    return orrery::cli::kExitUnusable;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "orrery: {} (orrery --help lists what there is)\n", error.what());
    return orrery::cli::kExitUnusable;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "orrery: out of memory\n");
    return orrery::cli::kExitUnusable;
  }
  return status;
}
