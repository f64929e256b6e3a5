#include <memory>

#include "orrery/api/diff.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

struct DiffArguments {
  api::DiffRequest request;
  OutputOptions output;
};

Result<int> RunDiff(const api::Session& session, const DiffArguments& arguments) {
  api::DiffRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::DiffResult result, api::Diff(session, request));
  line.Clear();
  ORRERY_TRY_STATUS(Deliver(api::MakeDocument(result), arguments.output));
  if (!result.worst.empty()) {
    PrintNotice(result.worst);
    return kExitWorse;
  }
  return result.is_partial ? kExitPartial : kExitOk;
}

}  // namespace

void AddDiffCommand(Verb& app) {
  auto arguments = std::make_shared<DiffArguments>();
  api::DiffRequest& request = arguments->request;
  Verb verb = app.AddVerb("diff", "What changed between two runs");
  AddFieldOption(verb, request, "before", "A");
  verb.FindOption("A").Required();
  AddFieldOption(verb, request, "after", "B");
  verb.FindOption("B").Required();
  AddFieldOptions(verb, request, "fail_over", "metric");
  AddOutputOptions(verb, arguments->output);
  verb.AddFlag("--csv", arguments->output.as_csv, "print one line for each thing compared");
  AddFieldOptions(verb, request, "steps", "step_marker");
  verb.OnRun([arguments](const api::Session& session) { return RunDiff(session, *arguments); });
}

}  // namespace orrery::cli
