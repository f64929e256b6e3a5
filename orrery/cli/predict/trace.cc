#include <memory>
#include <string>

#include "orrery/api/predict.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

struct PredictTraceArguments {
  api::PredictTraceRequest request;
  std::string trace;  // to write
  OutputOptions output;
};

Result<int> RunPredictTrace(const api::Session& session, const PredictTraceArguments& arguments) {
  api::PredictTraceRequest request = arguments.request;
  ProgressLine line(TerminalProgress(), "reading " + request.trace);
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::PredictTraceResult result, api::PredictTrace(session, request));
  line.Clear();
  if (!arguments.trace.empty()) {
    ORRERY_TRY_STATUS(api::WriteTrace(result, arguments.trace));
  }
  return Deliver(api::MakeDocument(result), arguments.output, result.is_partial);
}

}  // namespace

void AddPredictTraceCommand(Verb& predict) {
  auto arguments = std::make_shared<PredictTraceArguments>();
  api::PredictTraceRequest& request = arguments->request;
  AddFieldOption(predict, request, "trace", "TRACE");
  AddFieldOptions(predict, request, "gpu", "repetitions");
  AddOutputOptions(predict, arguments->output);
  predict.AddOption("-o,--output FILE", arguments->trace, "write the predicted trace (.orr)");
  AddFieldOptions(predict, request, "threads", "step_marker");
  predict.OnRun(
      [arguments](const api::Session& session) { return RunPredictTrace(session, *arguments); });
}

}  // namespace orrery::cli
