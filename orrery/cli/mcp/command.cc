#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <unistd.h>

#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/base/file/line_cutter.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/mcp/folders.h"
#include "orrery/mcp/server.h"
#include "orrery/mcp/tool.h"

namespace orrery::cli {
namespace {

struct McpArguments {
  std::vector<std::string> folders = {"."};
  std::string writable;
};

// Reads standard input to its end; returns why it could not.
Status ReadStandardInput(LineCutter& lines) {
  std::array<char, 65536> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count == 0) {
      lines.Finish();
      return {};
    }
    if (count < 0 && errno != EINTR) {
      return Fail(Error::Kind::kSystem,
                  std::string("standard input: cannot read: ") + std::strerror(errno));
    }
    if (count > 0) {
      lines.Add(std::string_view(bytes.data(), static_cast<std::size_t>(count)));
    }
  }
}

Result<int> RunMcp(const McpArguments& arguments, const std::string& version) {
  ORRERY_TRY(mcp::Folders folders, mcp::Folders::Open(arguments.folders, arguments.writable));
  std::error_code error;
  std::filesystem::current_path(folders.readable().front(), error);
  if (error) {
    return InvalidInput("{}: cannot work in this folder: {}", arguments.folders.front(),
                        error.message());
  }
  mcp::Server server(mcp::AllTools(), std::move(folders), version, [](const std::string& line) {
    Print(line + "\n");
    std::fflush(stdout);
  });
  LineCutter lines(mcp::kLongestMessage, [&](std::string_view line) { server.Receive(line); });
  ORRERY_TRY_STATUS(ReadStandardInput(lines));
  server.Finish();
  return kExitOk;
}

}  // namespace

void AddMcpCommand(Verb& app) {
  auto arguments = std::make_shared<McpArguments>();
  Verb verb = app.AddVerb("mcp", "Serve agents over the Model Context Protocol");
  verb.Footer(
      "Speaks the Model Context Protocol (JSON-RPC, a message a line) on standard input and "
      "output,\n"
      "so that agents can ask for predictions (docs/mcp.md). It ends with its input, when all "
      "calls\n"
      "are answered. Only files below the folders are read, and none is written without "
      "--write.\n\n"
      "Examples:\n"
      "  orrery mcp runs/ jobs/\n"
      "  orrery mcp jobs/ --write out/");
  verb.AddOption("FOLDER", arguments->folders,
                 "folders of runs and jobs that may be read (default: the working one)");
  verb.AddOption("--write DIR", arguments->writable,
                 "a folder in which tools may write new files: pages and traces");
  const std::string& program = app.invocation().version;  // "orrery 0.1.0"
  const std::string version = program.substr(program.find(' ') + 1);
  verb.OnRun([arguments, version](const api::Session& /*session*/) {
    return RunMcp(*arguments, version);
  });
}

}  // namespace orrery::cli
