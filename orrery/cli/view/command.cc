#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include "orrery/api/session.h"
#include "orrery/api/view.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/serve/answers.h"
#include "orrery/serve/http/server.h"
#include "orrery/serve/page_assets.h"

namespace orrery::cli {
namespace {

constexpr const char* kFooter =
    "RUN is what `orrery analyze` reads (a file or a folder of one run), a job (YAML), which is\n"
    "simulated on the spot, or a store of `orrery search` (.orrdb). Two of them are drawn above\n"
    "each other, with their differences: two recordings, a recording and the job that predicts "
    "it,\n"
    "or two jobs. Of three, the page chooses which is beside the first. The server answers only\n"
    "programs on this machine that know the address; end it with Ctrl-C.\n\n"
    "Examples:\n"
    "  orrery view run/\n"
    "  orrery view before.orr after.orr\n"
    "  orrery view before.orr after.orr job.yaml\n"
    "  orrery view examples/llama3-70b-512-h100.yaml\n"
    "  orrery view run/ job.yaml --no-open --port 8787";

struct ViewArguments {
  api::ViewRequest request;
  std::string listen = "127.0.0.1";
  int port = 0;
  bool stays_closed = false;     // no browser is opened
  std::string export_file = {};  // instead of serving
};

// Signals that end the program are written to a pipe, which a thread reads: a handler may do no
// more.
class EndSignals {
 public:
  [[nodiscard]] static Result<EndSignals> Catch() {
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return Fail(Error::Kind::kSystem,
                  fmt::format("no pipe for signals: {}", std::strerror(errno)));
    }
    struct sigaction action{};
    action.sa_handler = [](int /*signal*/) {
      const char byte = 0;
      [[maybe_unused]] const auto written = write(ends[1], &byte, 1);
    };
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    return EndSignals();
  }

  void Wait() const {
    char byte = 0;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
  }

 private:
  EndSignals() = default;

  static inline int ends[2] = {-1, -1};
};

// Each heap of the allocator keeps what was freed in it; by default there are eight of them for a
// core, and a what-if leaves some megabytes in the one of its thread.
void KeepFewHeaps() {
  constexpr int kMostHeaps = 4;  // as many as answers are made at once
  mallopt(M_ARENA_MAX, kMostHeaps);
}

// Only where there is a desktop; whether it worked is for the user to see.
void OpenBrowser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) {
    return;
  }
  if (fork() == 0) {
    execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
    _exit(1);
  }
}

Result<int> Export(const ViewArguments& arguments, const serve::Answers& answers) {
  ORRERY_TRY(const std::vector<std::string> addresses, answers.OverviewAddresses());
  ORRERY_TRY(const std::string page, answers.ExportedPage(addresses, ""));
  ORRERY_TRY_STATUS(WriteFile(arguments.export_file, page));
  return kExitOk;
}

Result<int> RunView(const api::Session& session, const ViewArguments& arguments) {
  if (arguments.request.paths.empty()) {
    return InvalidInput("RUN is required: files or a folder of a run, or a job");
  }
  KeepFewHeaps();
  api::ViewRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::View view, api::OpenView(session, request));
  line.Clear();
  std::vector<serve::Asset> assets = serve::PageAssets();
  if (assets.empty()) {
    return Unsupported(
        "the page is not part of this program, because npm could not be reached when it was built; "
        "install nodejs and npm, then run `make` again");
  }
  // The page says it, too; who exports a page without looking at it learns it here.
  for (const std::string& sentence : api::RunsWithNothingInCommon(view)) {
    PrintNotice(sentence);
  }
  serve::Answers answers(view, std::move(assets));
  if (!arguments.export_file.empty()) {
    return Export(arguments, answers);
  }
  ORRERY_TRY(const EndSignals signals, EndSignals::Catch());
  ORRERY_TRY(const std::unique_ptr<serve::Server> server,
             serve::Server::Listen({.listen = arguments.listen,
                                    .port = arguments.port,
                                    .log = [](const std::string& text) { PrintNotice(text); }},
                                   answers));
  Print(fmt::format("{}\n", server->address()));
  std::fflush(stdout);  // whoever starts it reads the address while it runs
  if (!arguments.stays_closed) {
    OpenBrowser(server->address());
  }
  std::thread waits([&] {
    signals.Wait();
    server->Stop();
  });
  server->Run();
  waits.join();
  return kExitOk;
}

}  // namespace

void AddViewCommand(Verb& program) {
  const auto arguments = std::make_shared<ViewArguments>();
  Verb verb = program.AddVerb("view", "A page of a run: all ranks over time, down to one kernel");
  verb.Footer(kFooter);
  verb.AddOption("RUN", arguments->request.paths, "a run, or two or three to compare");
  verb.AddOption("--port", arguments->port, "of the server (default: one that is free)")
      .Range(0, 65535);
  verb.AddOption("--listen ADDRESS", arguments->listen,
                 "answer requests from other machines on this address of this one; who knows the "
                 "printed address can read the run")
      .ShowDefault();
  verb.AddOption("--export FILE", arguments->export_file,
                 "write one page that needs no server, with the runs as a whole, and end");
  verb.AddFlag("--no-open", arguments->stays_closed, "print the address, open no browser");
  AddJobOptions(verb, arguments->request.job);
  AddRunOptions(verb, arguments->request.run);
  verb.OnRun([arguments](const api::Session& session) { return RunView(session, *arguments); });
}

}  // namespace orrery::cli
