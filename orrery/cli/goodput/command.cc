#include <memory>

#include "orrery/api/goodput.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

constexpr const char* kFooter =
    "JOB.yaml is a job of `orrery simulate` (docs/formats/job.md), whose step is simulated once.\n"
    "Then months of it are: failures by chance or from a log, detection, restart, work done\n"
    "again since the last durable checkpoint, repair and spares (docs/design/0016-goodput.md). "
    "The\n"
    "parts of lost time add up to the window. No prices are shipped: --price gives them.\n\n"
    "--failures takes a set of data/hardware/failures.yaml (llama3-405b, rsc-1, rsc-2), a file of\n"
    "the same form, a log (.csv; docs/formats/failures.md), or none.\n\n"
    "Examples:\n"
    "  orrery goodput job.yaml --days 30 --storage 200GB/s --price H100=2.5 --html month.html\n"
    "  orrery goodput job.yaml --node-mtbf 20d --checkpoint 30m --restart 8m --detect 2m\n"
    "  orrery goodput job.yaml --failures rsc-1 --async --spares 8 --elastic --json\n"
    "  orrery goodput job.yaml --slow-nodes 200d:1.3:1h --step-time 6.2s";

struct GoodputArguments {
  api::GoodputRequest request;
  OutputOptions output;
};

Result<int> RunGoodput(const api::Session& session, const GoodputArguments& arguments) {
  api::GoodputRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "simulating");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::GoodputResult result, api::Goodput(session, request));
  line.Clear();
  ORRERY_TRY_STATUS(Deliver(api::MakeDocument(result), arguments.output));
  return result.out_of_memory ? kExitOutOfMemory : kExitOk;
}

}  // namespace

void AddGoodputCommand(Verb& program) {
  const auto arguments = std::make_shared<GoodputArguments>();
  Verb verb = program.AddVerb(
      "goodput", "A month of a training job with failures: effective training time, cost, advice");
  verb.Footer(kFooter);
  AddFieldOption(verb, arguments->request, "job", "JOB");
  verb.FindOption("JOB").Required();
  AddFieldOptions(verb, arguments->request, "set", "threads");
  verb.FindOption("--failures").Excludes("--node-mtbf");
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.OnRun([arguments](const api::Session& session) { return RunGoodput(session, *arguments); });
}

}  // namespace orrery::cli
