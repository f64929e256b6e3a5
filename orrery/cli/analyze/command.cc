#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/measurements.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/straggler_analysis.h"
#include "orrery/analyze/straggler/timeline_operations.h"
#include "orrery/base/error.h"
#include "orrery/base/parallel.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/cli/analyze/options.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/draw/format.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/report/metric_rows.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/clock_alignment.h"

namespace orrery::cli {
namespace {

using report::MetricRow;

constexpr std::size_t kMaxDetailRows = 16;

std::string ValueWithUnit(const MetricRow& metric) {
  if (!metric.value) {
    return fmt::format("n/a: {}", metric.reason);
  }
  return fmt::format("{:.6g}{}{}", *metric.value, metric.unit.empty() ? "" : " ", metric.unit);
}

Table ResultTable(const std::vector<MetricRow>& results) {
  constexpr Table::Type kText = Table::Type::kText;
  Table table({{"metric", kText},
               {"value", Table::Type::kNumber},
               {"unit", kText},
               {"status", kText},
               {"reason", kText}});
  for (const MetricRow& metric : results) {
    table.AddRow({metric.name, Table::CellOf(metric.value), metric.unit,
                  std::string(metric.value ? "ok" : "n/a"), metric.reason});
  }
  return table;
}

Value DataOf(const std::vector<MetricRow>& results) {
  Value metrics = Value::Object();
  for (const MetricRow& metric : results) {
    metrics.Set(metric.name, Value::Object()
                                 .Set("value", metric.value)
                                 .Set("unit", metric.unit)
                                 .Set("status", metric.value ? "ok" : "n/a")
                                 .Set("reason", metric.value ? Value() : Value(metric.reason))
                                 .Set("detail", metric.detail));
  }
  return Value::Object().Set("metrics", std::move(metrics));
}

// Each metric with its details; CSV: metric,value,unit,status,reason. JSON:
// docs/formats/analyze-json.md.
Document MetricsDocument(const std::vector<MetricRow>& results) {
  Document document{.kind = "Orrery metrics"};
  for (const MetricRow& metric : results) {
    std::string details = draw::ValueText(metric.detail, 2, kMaxDetailRows);
    Document::Section& section =
        document.AddSection(fmt::format("{}: {}", metric.name, ValueWithUnit(metric)));
    section.Say("  " + metric.meaning);
    if (details.ends_with('\n')) {
      details.pop_back();
    }
    if (!details.empty()) {
      section.Say(std::move(details));
    }
  }
  document.data = DataOf(results);
  document.sheets.emplace_back("metrics", ResultTable(results));
  return document;
}

Document StatusDocument(const std::vector<MetricRow>& results) {
  Document document{.kind = "Orrery metrics"};
  Document::Table table{.columns = {AsText("", "metric", 0), AsText("", "status", 100)},
                        .max_shown = SIZE_MAX};
  for (const MetricRow& metric : results) {
    table.rows.push_back({metric.name, metric.value ? "ok" : "n/a: " + metric.reason});
  }
  document.AddSection().Add(std::move(table));
  document.data = DataOf(results);
  return document;
}

Document MetricListDocument() {
  Document document{.kind = "Orrery metrics"};
  Document::Table table{.key = "metrics",
                        .columns = {AsText("metric", "metric", 0), AsText("unit", "unit", 0),
                                    AsText("meaning", "meaning", 0), AsText("needs", "needs", 0)},
                        .max_shown = SIZE_MAX};
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    table.rows.push_back({metric.name, metric.unit, metric.meaning, metric.needs});
    for (const analyze::MetricAlias& alias : metric.aliases) {
      table.rows.push_back({fmt::format("  {}", alias.name), alias.unit.value_or(metric.unit),
                            fmt::format("→ {}", metric.name)});
    }
  }
  document.AddSection().Add(std::move(table));
  return document;
}

struct AnalyzeArguments {
  RunArguments run;
  Selection selection;
  std::vector<std::string> metrics;
  std::string compat;  // the suite whose definitions are used; empty: ours
  std::string nvlink_file;
  bool lists = false;
  OutputOptions output;
};

std::vector<MetricRow> EvaluateCompat(const AnalyzeArguments& arguments, const ingest::Run& run) {
  const std::vector<analyze::Measurement> measurements = analyze::MeasurementsOf(run.tables);
  const compat::ccl_bench::Run compat{
      .set = &run.set, .measurements = measurements, .options = arguments.selection.options};
  std::vector<std::string> names = arguments.metrics;
  const auto known = compat::ccl_bench::MetricNames();
  if (names.empty()) {
    names.assign(known.begin(), known.end());
  }
  std::vector<MetricRow> results(names.size());
  ParallelFor(names.size(), arguments.run.threads, [&](std::size_t i) {
    auto computed = compat::ccl_bench::ComputeMetric(names[i], compat);
    if (computed.is_missing) {
      computed.detail.Set("upstream_missing", true);
    }
    results[i] = {names[i],
                  "As ccl-bench computes it",
                  computed.value,
                  std::move(computed.unit),
                  std::move(computed.reason),
                  std::move(computed.detail)};
  });
  return results;
}

// Metrics are printed when a form for programs, some metrics or the list are requested.
bool WantsMetrics(const AnalyzeArguments& arguments) {
  return !arguments.metrics.empty() || arguments.output.as_json || arguments.output.as_csv ||
         arguments.lists;
}

// "runs/today/" and "runs/today" are both "today".
std::string TitleOf(const std::vector<std::string>& paths) {
  const std::filesystem::path path(paths.front());
  const std::filesystem::path name =
      path.has_filename() ? path.filename() : path.parent_path().filename();
  return name.empty() || name == "." || name == ".." ? "A run" : name.string();
}

// A timeline of operations has nothing but what stragglers cost; it must be there alone, and such
// that it can be replayed.
Result<bool> IsTimeline(const ingest::Run& run, const analyze::RunView& view) {
  const auto timeline =
      std::ranges::find(run.tables, analyze::kOperationTimeline, &ingest::MeasurementTable::format);
  if (timeline == run.tables.end()) {
    return false;
  }
  if (run.tables.size() > 1 || !run.set.ranks.empty()) {
    return InvalidInput("{}: a timeline of operations is analyzed alone; leave out the other files",
                        timeline->file);
  }
  const auto& stragglers = analyze::StragglersOf(view);
  return stragglers ? Result<bool>(true) : FailWithin(timeline->file, stragglers);
}

// What is printed takes no files: the page is of the whole run, whatever is printed. Of the other
// suite's metrics there is no view.
Result<int> PrintMetrics(const AnalyzeArguments& arguments, const std::vector<MetricRow>& results,
                         const analyze::RunView* view = nullptr,
                         const report::RunReport* report = nullptr) {
  OutputOptions printed = arguments.output;
  printed.html_file.clear();
  Document document = arguments.lists ? StatusDocument(results) : MetricsDocument(results);
  if (report != nullptr) {
    report::SetReportFields(*report, document.data);
    document.data.Set("straggler", analyze::StragglerData(analyze::StragglersOf(*view)));
  }
  if (view != nullptr) {
    document.data.Set("notes", Value::ListOf(report::NotesOf(*view)));
  }
  return Deliver(document, printed);
}

Result<int> AnalyzeOurs(const AnalyzeArguments& arguments, const RunToAnalyze& read) {
  ORRERY_TRY(const auto metrics, ChosenMetrics(arguments.metrics));
  const ingest::Run& run = *read.run;
  const analyze::RunView view = ViewOf(read, arguments.selection.options);
  ORRERY_TRY(const bool is_timeline, IsTimeline(run, view));
  const std::string& html_file = arguments.output.html_file;
  if (!arguments.nvlink_file.empty()) {
    ORRERY_TRY(const Document page, report::NvlinkDocument(view, TitleOf(arguments.run.paths)));
    ORRERY_TRY_STATUS(WriteOutputFiles(
        page, {.html_file = arguments.nvlink_file, .made_by = arguments.output.made_by}));
    if (!WantsMetrics(arguments) && html_file.empty()) {
      return kExitOk;
    }
  }
  const std::vector<MetricRow> results = report::EvaluateAll(metrics, view);
  const bool prints_metrics = arguments.output.as_json || arguments.output.as_csv ||
                              arguments.lists || (html_file.empty() && WantsMetrics(arguments));
  const bool is_json_of_all = arguments.output.as_json && arguments.metrics.empty();
  if (prints_metrics && html_file.empty() && !is_json_of_all) {
    return PrintMetrics(arguments, results, &view);
  }
  const report::RunReport report =
      report::CollectReport(view, TitleOf(arguments.run.paths), results);
  const Document whole = is_timeline ? TimelineDocument(report) : RunDocument(report);
  if (!html_file.empty()) {
    ORRERY_TRY_STATUS(
        WriteOutputFiles(whole, {.html_file = html_file, .made_by = arguments.output.made_by}));
  }
  if (prints_metrics) {
    return PrintMetrics(arguments, results, &view, is_json_of_all ? &report : nullptr);
  }
  return Deliver(html_file.empty() || is_timeline ? whole : FindingsDocument(report), {});
}

Result<int> Analyze(AnalyzeArguments arguments) {
  if (arguments.run.paths.empty()) {
    if (arguments.lists) {
      return Deliver(MetricListDocument(), {});
    }
    return InvalidInput("PATH is required");
  }
  if (arguments.compat.empty()) {
    // A wrong name is said before a long read.
    ORRERY_TRY([[maybe_unused]] const auto metrics, ChosenMetrics(arguments.metrics));
  }
  ORRERY_TRY_STATUS(ReadSelection(arguments.selection));
  ORRERY_TRY(const RunToAnalyze read,
             ReadRunToAnalyze(arguments.run, arguments.run.paths,
                              arguments.compat.empty() ? arguments.selection.options.align
                                                       : trace::AlignClocks::kNever));
  const ingest::Run& run = *read.run;
  ORRERY_TRY_STATUS(CheckSelection(arguments.selection, run));
  // Who asks for some metrics is told of each why it does not apply.
  if (arguments.metrics.empty() && !arguments.lists && arguments.compat.empty() &&
      arguments.nvlink_file.empty()) {
    ORRERY_TRY_STATUS(CheckGpuWork(arguments.selection, run, arguments.run.paths.front()));
  }
  arguments.selection.options.threads = arguments.run.threads;
  if (arguments.compat.empty()) {
    ORRERY_TRY_STATUS(AnalyzeOurs(arguments, read));
  } else {
    ORRERY_TRY_STATUS(PrintMetrics(arguments, EvaluateCompat(arguments, run)));
  }
  return run.is_partial() ? kExitPartial : kExitOk;
}

void AddMetricOptions(Verb& verb, AnalyzeArguments& arguments) {
  verb.AddOption("--metric", arguments.metrics, "only this metric; may be repeated").OneValueEach();
  verb.AddFlag("--list", arguments.lists, "list the metrics; with PATH whether each applies");
  verb.AddOption("--compat", arguments.compat, "use the definitions of another suite: ccl-bench")
      .OneOf({"ccl-bench"});
  AddOutputOptions(verb, arguments.output);
  verb.FindOption("--html").Excludes("--compat");
  verb.AddFlag("--csv", arguments.output.as_csv, "print one line per metric");
  verb.AddOption("--nvlink-report", arguments.nvlink_file,
                 "write a page about NVLink throughput over time to this file")
      .Excludes("--compat");
}

void AddQuestionOptions(Verb& verb, AnalyzeArguments& arguments) {
  static const std::map<std::string, bool> kWeights{{"bytes", false}, {"time", true}};
  verb.AddOption(
      "--what-if", arguments.selection.what_if,
      "what_if: a scenario, such as network=4, kernel:NAME=2 or rank:3; may be repeated");
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
  verb.AddOption("--top", options.top, "peak_kernels: how many peaks").ShowDefault().Positive();
  verb.AddFlag("--nccl-only", options.nccl_only, "peak_kernels: communication kernels only");
}

}  // namespace

void AddAnalyzeCommand(Verb& app) {
  auto arguments = std::make_shared<AnalyzeArguments>();
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
  verb.AddOption("PATH", arguments->run.paths, "files and folders of one run");
  AddMetricOptions(verb, *arguments);
  AddSelectionOptions(verb, arguments->selection);
  AddQuestionOptions(verb, *arguments);
  AddLinkOptions(verb, *arguments);
  AddRunOptions(verb, arguments->run);
  verb.OnRun([arguments] { return Analyze(*arguments); });
}

}  // namespace orrery::cli
