#include <memory>
#include <string>
#include <string_view>

#include "orrery/api/fit.h"
#include "orrery/api/fit_overlap.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

template <typename FitResult>
void PrintNotices(const FitResult& result) {
  for (const std::string& notice : result.notices) {
    PrintNotice(notice);
  }
}

/// Prints the text and the notices of a fit; returns the exit status.
template <typename FitResult>
int Show(const FitResult& result) {
  Print(api::FitText(result));
  if constexpr (requires { result.notices; }) {
    PrintNotices(result);
  }
  if constexpr (requires { result.is_partial; }) {
    return result.is_partial ? kExitPartial : kExitOk;
  }
  return kExitOk;
}

template <typename Request, typename FitResult>
Result<FitResult> CallWithProgress(const api::Session& session,
                                   Result<FitResult> (*fit)(const api::Session&, const Request&),
                                   Request request) {
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  return fit(session, request);
}

/// The argument of a verb of fit that must be given.
template <typename Request>
void AddInput(Verb& verb, Request& request, std::string_view field, const char* name) {
  AddFieldOption(verb, request, field, name);
  verb.FindOption(name).Required();
}

template <typename Request>
void AddOutput(Verb& verb, Request& request, const char* name = "-o,--output FILE") {
  AddFieldOption(verb, request, "output", name);
  verb.FindOption("--output").Required();
}

Result<int> RunFitPower(const api::Session& session, const api::FitPowerRequest& request) {
  ORRERY_TRY(const api::FitPowerResult result, api::FitPower(session, request));
  ORRERY_TRY(const int status, Deliver(api::MakeDocument(result), {}, result.is_partial));
  PrintNotices(result);
  return status;
}

struct FitOverlapArguments {
  api::FitOverlapRequest pairs;
  api::FitOverlapFromTracesRequest traces;  // counters and output are those of pairs
  OutputOptions output;                     // of traces
};

Result<int> RunFitOverlapFromTraces(const api::Session& session,
                                    const FitOverlapArguments& arguments) {
  api::FitOverlapFromTracesRequest request = arguments.traces;
  if (arguments.pairs.counters.size() > 1) {
    return InvalidInput("--from-traces takes one file of --counters");
  }
  if (!arguments.pairs.counters.empty()) {
    request.counters = arguments.pairs.counters.front();
  }
  request.output = arguments.pairs.output;
  ORRERY_TRY(const api::FitOverlapFromTracesResult result,
             CallWithProgress(session, &api::FitOverlapFromTraces, request));
  ORRERY_TRY(const int status,
             Deliver(api::MakeDocument(result), arguments.output, result.is_partial));
  PrintNotices(result);
  return status;
}

Result<int> RunFitOverlap(const api::Session& session, const FitOverlapArguments& arguments) {
  if (!arguments.traces.from_traces.empty()) {
    return RunFitOverlapFromTraces(session, arguments);
  }
  ORRERY_TRY(const api::FitOverlapResult result,
             CallWithProgress(session, &api::FitOverlap, arguments.pairs));
  return Show(result);
}

}  // namespace

void AddFitKernelsCommand(Verb& fit) {
  auto request = std::make_shared<api::FitKernelsRequest>();
  Verb verb = fit.AddVerb("kernels", "Times of operators, from measurements");
  AddInput(verb, *request, "paths", "DATA");
  AddOutput(verb, *request);
  AddFieldOptions(verb, *request, "gpu", "no_figures");
  verb.OnRun([request](const api::Session& session) -> Result<int> {
    ORRERY_TRY(const api::FitKernelsResult result,
               CallWithProgress(session, &api::FitKernels, *request));
    return Show(result);
  });
}

void AddFitSiblingsCommand(Verb& fit) {
  auto request = std::make_shared<api::FitSiblingsRequest>();
  Verb verb = fit.AddVerb(
      "siblings", "Corrections for GPUs with few measurements, relative to models of other GPUs");
  AddInput(verb, *request, "paths", "DATA");
  AddOutput(verb, *request);
  AddFieldOption(verb, *request, "gpu");
  verb.OnRun([request](const api::Session& session) -> Result<int> {
    ORRERY_TRY(const api::FitSiblingsResult result, api::FitSiblings(session, *request));
    return Show(result);
  });
}

void AddFitCollectivesCommand(Verb& fit) {
  auto request = std::make_shared<api::FitCollectivesRequest>();
  Verb verb = fit.AddVerb("collectives", "Constants of machines, from measured collectives");
  AddInput(verb, *request, "paths", "DATA");
  AddOutput(verb, *request);
  AddFieldOption(verb, *request, "cluster");
  verb.OnRun([request](const api::Session& session) -> Result<int> {
    ORRERY_TRY(const api::FitCollectivesResult result,
               CallWithProgress(session, &api::FitCollectives, *request));
    return Show(result);
  });
}

void AddFitFrameworksCommand(Verb& fit) {
  auto request = std::make_shared<api::FitFrameworksRequest>();
  Verb verb = fit.AddVerb(
      "frameworks",
      "Efficiency of frameworks relative to isolated kernels and collectives, from published runs");
  AddInput(verb, *request, "paths", "TABLE");
  AddFieldOption(verb, *request, "output", "-o,--output FILE");
  AddFieldOptions(verb, *request, "without_stack", "overlap");
  verb.OnRun([request](const api::Session& session) -> Result<int> {
    ORRERY_TRY(const api::FitFrameworksResult result,
               CallWithProgress(session, &api::FitFrameworks, *request));
    return Show(result);
  });
}

void AddFitHostCommand(Verb& fit) {
  auto request = std::make_shared<api::FitHostRequest>();
  Verb verb = fit.AddVerb("host", "CPU time of operators and launches, from recorded traces");
  AddInput(verb, *request, "paths", "TRACE");
  AddFieldOptions(verb, *request, "steps", "without");
  AddOutput(verb, *request, "-o,--output");
  AddFieldOptions(verb, *request, "threads", "step_marker");
  verb.OnRun([request](const api::Session& session) -> Result<int> {
    ORRERY_TRY(const api::FitHostResult result, CallWithProgress(session, &api::FitHost, *request));
    return Show(result);
  });
}

void AddFitJitterCommand(Verb& fit) {
  auto request = std::make_shared<api::FitJitterRequest>();
  Verb verb = fit.AddVerb("jitter", "How the times of healthy steps vary, from logged steps");
  AddInput(verb, *request, "path", "STEPS");
  AddFieldOption(verb, *request, "output", "-o,--output FILE");
  verb.OnRun([request](const api::Session& session) -> Result<int> {
    ORRERY_TRY(const api::FitJitterResult result, api::FitJitter(session, *request));
    return Show(result);
  });
}

void AddFitOverlapCommand(Verb& fit) {
  auto arguments = std::make_shared<FitOverlapArguments>();
  Verb verb = fit.AddVerb(
      "overlap", "How kernels slow each other down, from measured pairs or from recordings");
  AddFieldOption(verb, arguments->pairs, "paths", "DATA");
  AddFieldOption(verb, arguments->traces, "from_traces");
  verb.FindOption("--from-traces").NumValues(2);
  AddFieldOption(verb, arguments->pairs, "counters");
  AddFieldOption(verb, arguments->pairs, "output", "-o,--output PATH");
  AddFieldOption(verb, arguments->pairs, "seed");
  verb.AddFlag("--json", arguments->output.as_json, "of --from-traces: one JSON document");
  AddFieldOptions(verb, arguments->traces, "threads", "step_marker");
  verb.OnRun(
      [arguments](const api::Session& session) { return RunFitOverlap(session, *arguments); });
}

void AddFitPowerCommand(Verb& fit) {
  auto request = std::make_shared<api::FitPowerRequest>();
  Verb verb = fit.AddVerb("power", "What boards draw, from sustained times");
  AddInput(verb, *request, "paths", "DATA");
  AddOutput(verb, *request);
  verb.OnRun([request](const api::Session& session) { return RunFitPower(session, *request); });
}

}  // namespace orrery::cli
