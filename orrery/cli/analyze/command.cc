#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/base/parallel.h"
#include "orrery/cli/analyze/html.h"
#include "orrery/cli/analyze/options.h"
#include "orrery/cli/analyze/output.h"
#include "orrery/cli/command.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/verb.h"
#include "orrery/report/text_page.h"

namespace orrery::cli {
namespace {

struct AnalyzeArguments {
  RunArguments run;
  Selection selection;
  std::vector<std::string> metrics;
  std::string compat;  // the suite whose definitions are wanted; empty: ours
  std::string html_file;
  std::string nvlink_file;
  bool lists = false;
  bool as_json = false;
  bool as_csv = false;
};

std::vector<NamedResult> EvaluateAll(const std::vector<analyze::NamedMetric>& metrics,
                                     const analyze::RunView& view) {
  std::vector<NamedResult> results(metrics.size());
  ParallelFor(metrics.size(), view.options.threads, [&](std::size_t i) {
    const analyze::NamedMetric& named = metrics[i];
    results[i] = {.name = std::string(named.name()),
                  .unit = std::string(named.unit()),
                  .meaning = std::string(named.metric->meaning),
                  .result = analyze::Evaluate(named, view)};
  });
  return results;
}

std::vector<NamedResult> EvaluateCompat(const AnalyzeArguments& arguments, const ingest::Run& run) {
  const std::vector<analyze::Measurement> measurements = MeasurementsOf(run);
  const compat::ccl_bench::Run compat{
      .set = &run.set, .measurements = measurements, .options = arguments.selection.options};
  std::vector<std::string> names = arguments.metrics;
  const auto known = compat::ccl_bench::MetricNames();
  if (names.empty()) {
    names.assign(known.begin(), known.end());
  }
  std::vector<NamedResult> results(names.size());
  ParallelFor(names.size(), arguments.run.threads, [&](std::size_t i) {
    auto computed = compat::ccl_bench::ComputeMetric(names[i], compat);
    if (computed.is_missing) {
      computed.detail.Set("upstream_missing", true);
    }
    results[i] = {.name = names[i],
                  .unit = std::move(computed.unit),
                  .meaning = "As ccl-bench computes it",
                  .result = {.value = computed.value,
                             .reason = std::move(computed.reason),
                             .detail = std::move(computed.detail)}};
  });
  return results;
}

// Without a wish for one form or one metric.
bool WantsNoMetrics(const AnalyzeArguments& arguments) {
  return arguments.metrics.empty() && !arguments.as_json && !arguments.as_csv && !arguments.lists &&
         arguments.html_file.empty();
}

// The page that an engineer wants to read.
bool WantsPage(const AnalyzeArguments& arguments) {
  return WantsNoMetrics(arguments) && arguments.nvlink_file.empty();
}

bool WantsOnlyNvlinkPage(const AnalyzeArguments& arguments) {
  return WantsNoMetrics(arguments) && !arguments.nvlink_file.empty();
}

std::string OutputOf(const AnalyzeArguments& arguments, const std::vector<NamedResult>& results) {
  return arguments.as_json              ? AnalyzeJson(results)
         : arguments.as_csv             ? AnalyzeCsv(results)
         : arguments.lists              ? StatusText(results)
         : !arguments.html_file.empty() ? std::string()
                                        : AnalyzeText(results);
}

Result<std::string> AnalyzeOurs(const AnalyzeArguments& arguments, ingest::Run& run) {
  ORRERY_TRY(const auto metrics, ChosenMetrics(arguments.metrics));
  const analyze::RunView view =
      analyze::ViewRun(run.set, MeasurementsOf(run), arguments.selection.options);
  if (!arguments.nvlink_file.empty()) {
    ORRERY_TRY_STATUS(WriteNvlinkReport(view, arguments.run.paths, arguments.nvlink_file));
  }
  if (WantsOnlyNvlinkPage(arguments)) {
    return std::string();
  }
  const std::vector<NamedResult> results = EvaluateAll(metrics, view);
  if (!arguments.html_file.empty()) {
    ORRERY_TRY_STATUS(
        WriteHtmlReport(ReportOf(view, results, arguments.run.paths), arguments.html_file));
  }
  return WantsPage(arguments) ? report::RenderText(ReportOf(view, results, arguments.run.paths))
                              : OutputOf(arguments, results);
}

Result<int> Analyze(AnalyzeArguments arguments) {
  if (arguments.run.paths.empty()) {
    if (arguments.lists) {
      Print(MetricListText());
      return kExitOk;
    }
    return Fail(Error::Kind::kInvalidInput, "PATH is required");
  }
  if (arguments.compat.empty()) {
    // A wrong name is said before a long read.
    ORRERY_TRY([[maybe_unused]] const auto metrics, ChosenMetrics(arguments.metrics));
  }
  ORRERY_TRY_STATUS(ReadSelection(arguments.selection));
  ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments.run));
  arguments.selection.options.threads = arguments.run.threads;
  if (arguments.compat.empty()) {
    ORRERY_TRY(const std::string output, AnalyzeOurs(arguments, run));
    Print(output);
  } else {
    Print(OutputOf(arguments, EvaluateCompat(arguments, run)));
  }
  return run.is_partial() ? kExitPartial : kExitOk;
}

void AddMetricOptions(Verb& verb, AnalyzeArguments& arguments) {
  verb.AddOption("--metric", arguments.metrics, "only this metric; may be repeated")
      .OneValueEach();
  verb.AddFlag("--list", arguments.lists, "list the metrics; with PATH whether each applies");
  verb.AddOption("--compat", arguments.compat, "use the definitions of another suite: ccl-bench")
      .OneOf({"ccl-bench"});
  verb.AddFlag("--json", arguments.as_json, "print one JSON document");
  verb.AddFlag("--csv", arguments.as_csv, "print one line a metric");
  verb.AddOption("--html", arguments.html_file, "write a page with pictures to this file")
      .Excludes("--compat");
  verb.AddOption("--nvlink-report", arguments.nvlink_file,
                  "write a page about NVLink throughput over time to this file")
      .Excludes("--compat");
}

void AddQuestionOptions(Verb& verb, AnalyzeArguments& arguments) {
  static const std::map<std::string, bool> kWeights{{"bytes", false}, {"time", true}};
  verb.AddOption("--what-if", arguments.selection.what_if,
                  "what_if: a question, as network=4, kernel:NAME=2, rank:3; may be repeated");
  verb.AddChoice("--by", arguments.selection.options.distribute_by_time, kWeights,
                "traffic_distribution: what is counted (default: bytes)");
}

void AddLinkOptions(Verb& verb, AnalyzeArguments& arguments) {
  static const std::map<std::string, analyze::LinkDirection> kDirections{
      {"tx", analyze::LinkDirection::kSent}, {"rx", analyze::LinkDirection::kReceived}};
  analyze::AnalyzeOptions& options = arguments.selection.options;
  verb.AddOption("--link", options.link, "NVLink metrics: one link (default: all)");
  verb.AddChoice("--direction", options.direction, kDirections,
                "NVLink metrics: one direction (default: both)");
  verb.AddOption("--gpu", options.gpu, "peak_kernels: whose kernels").ShowDefault();
  verb.AddOption("--top", options.top, "peak_kernels: how many peaks")
      .ShowDefault()
      .Positive();
  verb.AddFlag("--nccl-only", options.nccl_only, "peak_kernels: communication kernels only");
}

}  // namespace

void AddAnalyzeCommand(Verb& app) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  Verb verb = app.AddVerb("analyze", "Metrics of a run: all, or --metric NAME");
  verb.Footer(
      "Without --metric: the page to read, most important finding first. A metric that does not\n"
      "apply says why in words. Waiting in collectives is told apart from moving data.\n\n"
      "Exit status: 0 whole, 2 unusable, 3 partial (the notes say what is lost).\n\n"
      "Examples:\n"
      "  orrery analyze run/\n"
      "  orrery analyze run/ --html run.html\n"
      "  orrery analyze run/ --metric straggler --metric mfu --json\n"
      "  orrery analyze run/ --metric what_if --what-if network=4 --what-if rank:3\n"
      "  orrery analyze run/ --compat ccl-bench --csv");
  verb.AddOption("PATH", arguments->run.paths, "files and folders of one run");
  AddMetricOptions(verb, *arguments);
  AddSelectionOptions(verb, arguments->selection);
  AddQuestionOptions(verb, *arguments);
  AddLinkOptions(verb, *arguments);
  AddRunOptions(verb, arguments->run);
  verb.OnRun([arguments] { return Analyze(*arguments); });
}

}  // namespace orrery::cli
