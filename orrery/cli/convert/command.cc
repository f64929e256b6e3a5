#include <memory>

#include "orrery/api/convert.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

Result<int> RunConvert(const api::Session& session, api::ConvertRequest request) {
  ProgressLine line(TerminalProgress(), "reading " + request.input);
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::ConvertResult result, api::Convert(session, request));
  line.Clear();
  Print(api::ConvertText(result));
  return result.partial ? kExitPartial : kExitOk;
}

}  // namespace

void AddConvertCommand(Verb& app) {
  auto request = std::make_shared<api::ConvertRequest>();
  Verb verb = app.AddVerb("convert", "Translate traces for viewers and for speed");
  verb.Footer(
      "The name of OUT says the format:\n"
      "  .orr                 Orrery's container, everything kept, loads ten times faster than "
      "JSON\n"
      "  .json .json.gz .zst  Chrome JSON, for ui.perfetto.dev, chrome://tracing and Kineto tools; "
      "read "
      "back\n"
      "                       rank by rank\n"
      "  .pftrace             Perfetto's own format, for many ranks\n"
      "  .pickle              memory snapshot of PyTorch, for pytorch.org/memory_viz: segments, "
      "tensors\n"
      "                       and their history; of one process\n"
      "  .orrs                of a recorded event stream: the same stream, packed\n"
      "  .orrtable            of a table in CSV: the same text, packed by columns; .csv gives it "
      "back\n\n"
      "Viewers show ranks as processes, streams as threads, launches as arrows, and each "
      "collective\n"
      "that was matched over the ranks on a track of its group.\n\n"
      "Examples:\n"
      "  orrery convert run/ run.pftrace\n"
      "  orrery convert trace.json.gz trace.orr\n"
      "  orrery convert run.orrs run.pickle");
  AddFieldOption(verb, *request, "input", "IN");
  verb.FindOption("IN").Required();
  AddFieldOption(verb, *request, "output", "OUT");
  verb.FindOption("OUT").Required();
  AddFieldOptions(verb, *request, "align", "step_marker");
  verb.OnRun([request](const api::Session& session) { return RunConvert(session, *request); });
}

}  // namespace orrery::cli
