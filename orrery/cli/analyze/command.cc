#include <memory>
#include <string>

#include "orrery/api/analyze.h"
#include "orrery/api/session.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/request_options.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {
namespace {

using api::AnalyzeRequest;

struct AnalyzeArguments {
  AnalyzeRequest request;
  std::string nvlink_file;
  bool lists = false;
  OutputOptions output;
};

// Metrics are printed when a form for programs, some metrics or the list are requested; of a page
// only the findings.
bool PrintsMetrics(const AnalyzeArguments& arguments) {
  const OutputOptions& output = arguments.output;
  return !arguments.request.compat.empty() || output.as_json || output.as_csv || arguments.lists ||
         (output.html_file.empty() && !arguments.request.metrics.empty());
}

// The page of NVLink may be all that is wanted.
bool WantsNvlinkOnly(const AnalyzeArguments& arguments) {
  return !arguments.nvlink_file.empty() && !PrintsMetrics(arguments) &&
         arguments.output.html_file.empty();
}

AnalyzeRequest RequestOf(const AnalyzeArguments& arguments) {
  AnalyzeRequest request = arguments.request;
  const bool is_json_of_all = arguments.output.as_json && request.metrics.empty();
  request.needs_nvlink_page = !arguments.nvlink_file.empty();
  request.needs_metrics = !WantsNvlinkOnly(arguments);
  request.needs_report = request.needs_metrics && (!PrintsMetrics(arguments) || is_json_of_all ||
                                                   !arguments.output.html_file.empty());
  request.accepts_no_gpu_work = arguments.lists || request.needs_nvlink_page;
  return request;
}

Status WritePages(const AnalyzeArguments& arguments, const api::AnalyzeResult& result) {
  const report::MadeBy& made_by = arguments.output.made_by;
  if (result.nvlink_page != nullptr) {
    ORRERY_TRY_STATUS(WriteOutputFiles(*result.nvlink_page,
                                       {.html_file = arguments.nvlink_file, .made_by = made_by}));
  }
  const std::string& html_file = arguments.output.html_file;
  return html_file.empty() ? Status()
                           : WriteOutputFiles(api::MakeDocument(result),
                                              {.html_file = html_file, .made_by = made_by});
}

Status PrintResult(const AnalyzeArguments& arguments, const api::AnalyzeResult& result) {
  if (PrintsMetrics(arguments)) {
    OutputOptions printed = arguments.output;
    printed.html_file.clear();
    return Deliver(
               arguments.lists ? api::MakeStatusDocument(result) : api::MakeMetricsDocument(result),
               printed)
        .map([](int) {});
  }
  return Deliver(arguments.output.html_file.empty() ? api::MakeDocument(result)
                                                    : api::MakeFindingsDocument(result),
                 {})
      .map([](int) {});
}

Result<int> RunAnalyze(const api::Session& session, const AnalyzeArguments& arguments) {
  if (arguments.request.run.paths.empty() && arguments.lists) {
    return Deliver(api::ListMetrics(), {});
  }
  AnalyzeRequest request = RequestOf(arguments);
  ProgressLine line(TerminalProgress(), "reading");
  request.call.progress = ReportTo(line);
  ORRERY_TRY(const api::AnalyzeResult result, api::Analyze(session, request));
  line.Clear();
  ORRERY_TRY_STATUS(WritePages(arguments, result));
  if (!WantsNvlinkOnly(arguments)) {
    ORRERY_TRY_STATUS(PrintResult(arguments, result));
  }
  return result.is_partial ? kExitPartial : kExitOk;
}

void AddMetricOptions(Verb& verb, AnalyzeArguments& arguments) {
  AddFieldOption(verb, arguments.request, "metric");
  verb.AddFlag("--list", arguments.lists, "list the metrics; with PATH whether each applies");
  AddFieldOption(verb, arguments.request, "compat");
  AddOutputOptions(verb, arguments.output);
  verb.FindOption("--html").Excludes("--compat");
  verb.AddFlag("--csv", arguments.output.as_csv, "print one line per metric");
  verb.AddOption("--nvlink-report", arguments.nvlink_file,
                 "write a page about NVLink throughput over time to this file")
      .Excludes("--compat");
}

}  // namespace

void AddAnalyzeCommand(Verb& app) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  AnalyzeRequest& request = arguments->request;
  Verb verb = app.AddVerb("analyze", "Metrics of a run: all, or --metric NAME");
  verb.Footer(
      "Without --metric: a summary of the run, most important finding first, then where the time\n"
      "goes, communication that compute hides, and the kernels against the GPU's roofline; with\n"
      "--html a page of it, and the findings in the terminal. A metric that does not apply says\n"
      "why. Waiting in collectives is separated from the transfer of data. Of several ranks, and "
      "of\n"
      "a timeline of operations (CSV), it says what stragglers cost: the step if all ranks took\n"
      "equally long, and which rank and which class of operation is to blame.\n\nExamples:\n  "
      "orrery "
      "analyze "
      "run/\n  orrery analyze run/ --html run.html\n  orrery analyze run/ --metric straggler "
      "--metric mfu --json\n  orrery analyze run/ --metric what_if --what-if network=4 --what-if "
      "rank:3\n  orrery analyze run/ --compat ccl-bench --csv");
  AddFieldOption(verb, request, "paths", "PATH");
  AddMetricOptions(verb, *arguments);
  AddFieldOptions(verb, request, "steps", "nccl_only");
  AddFieldOptions(verb, request, "threads", "step_marker");
  verb.OnRun([arguments](const api::Session& session) { return RunAnalyze(session, *arguments); });
}

}  // namespace orrery::cli
