#include <memory>
#include <string>

#include "orrery/api/info.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

struct InfoArguments {
  api::InfoRequest request;
  OutputOptions output;
};

Result<int> RunInfo(const api::Session& session, const InfoArguments& arguments) {
  api::InfoRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "reading " + request.run.paths.front());
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::InfoResult result, api::Info(session, request));
  line.Clear();
  return Deliver(api::MakeDocument(result), arguments.output, result.is_partial);
}

}  // namespace

void AddInfoCommand(Verb& app) {
  auto arguments = std::make_shared<InfoArguments>();
  api::InfoRequest& request = arguments->request;
  Verb verb = app.AddVerb("info", "Look at traces: ranks, counts, problems");
  verb.Footer(
      "Reads files and folders as one run. Formats are found from content: Kineto JSON, PyTorch\n"
      "execution traces, Nsight Systems SQLite exports, nccl-tests logs, workload cards, .orr;\n"
      "plain, gzip or zstd.\n\n"
      "Examples:\n"
      "  orrery info trace.json.gz\n"
      "  orrery info run/ --json | python3 -m json.tool");
  AddFieldOption(verb, request, "paths", "PATH");
  verb.FindOption("PATH").Required();
  AddOutputOptions(verb, arguments->output);
  AddFieldOptions(verb, request, "threads", "step_marker");
  verb.OnRun([arguments](const api::Session& session) { return RunInfo(session, *arguments); });
}

}  // namespace orrery::cli
