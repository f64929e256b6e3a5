#include <exception>
#include <string>

#include <fmt/core.h>

#include "orrery/base/allocation.h"
#include "orrery/cli/command.h"

int main(int argc, char** argv) {
  orrery::ReturnFreedMemoryEarly();
  CLI::App app("Orrery: records, explains and predicts machine-learning training");
  app.set_version_flag("--version", std::string("orrery ") + ORRERY_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(30);
  int status = orrery::cli::kExitOk;
  orrery::cli::AddInfoCommand(app, status);
  orrery::cli::AddConvertCommand(app, status);
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
