#include "orrery/cli/command.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/base/parallel.h"
#include "orrery/base/table.h"
#include "orrery/cli/analyze/options.h"
#include "orrery/cli/output.h"
#include "orrery/cli/run_options.h"
#include "orrery/cli/verb.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/draw/value_output.h"
#include "orrery/report/collect.h"
#include "orrery/report/document.h"
#include "orrery/report/nvlink_page.h"
#include "orrery/report/run_report.h"

namespace orrery::cli {
namespace {

/// A requested metric with its result.
struct NamedResult {
  std::string name;
  std::string unit;
  std::string meaning;
  analyze::MetricResult result;
};

using report::Document;
using report::Unit;

constexpr std::size_t kMaxDetailRows = 16;

std::string ValueWithUnit(const NamedResult& named) {
  if (!named.result.is_ok()) {
    return fmt::format("n/a: {}", named.result.reason);
  }
  return fmt::format("{:.6g}{}{}", *named.result.value, named.unit.empty() ? "" : " ", named.unit);
}

std::string NeedsText(const analyze::Metric& metric) {
  std::string text;
  for (const analyze::Need& need : metric.needs) {
    text += text.empty() ? "" : ", ";
    text += NeedText(need);
  }
  return text;
}

Table ResultTable(const std::vector<NamedResult>& results) {
  Table table;
  const std::size_t metric = table.AddColumn("metric", Table::Type::kText);
  const std::size_t value = table.AddColumn("value", Table::Type::kNumber);
  const std::size_t unit = table.AddColumn("unit", Table::Type::kText);
  const std::size_t status = table.AddColumn("status", Table::Type::kText);
  const std::size_t reason = table.AddColumn("reason", Table::Type::kText);
  for (const NamedResult& named : results) {
    const std::size_t row = table.AddRow();
    table.Set(row, metric, named.name);
    if (named.result.is_ok()) {
      table.Set(row, value, *named.result.value);
    }
    table.Set(row, unit, named.unit);
    table.Set(row, status, std::string(named.result.is_ok() ? "ok" : "n/a"));
    table.Set(row, reason, named.result.reason);
  }
  return table;
}

Value DataOf(const std::vector<NamedResult>& results) {
  Value metrics = Value::Object();
  for (const NamedResult& named : results) {
    const analyze::MetricResult& result = named.result;
    metrics.Set(named.name, Value::Object()
                                .Set("value", result.is_ok() ? Value(*result.value) : Value())
                                .Set("unit", named.unit)
                                .Set("status", result.is_ok() ? "ok" : "n/a")
                                .Set("reason", result.is_ok() ? Value() : Value(result.reason))
                                .Set("detail", result.detail));
  }
  return Value::Object().Set("metrics", std::move(metrics));
}

// Each metric with its details; CSV: metric,value,unit,status,reason. JSON:
// docs/formats/analyze-json.md.
Document MetricsDocument(const std::vector<NamedResult>& results) {
  Document document{.title = "", .kind = "Orrery metrics"};
  for (const NamedResult& named : results) {
    std::string details = draw::ValueText(named.result.detail, 2, kMaxDetailRows);
    Document::Section& section =
        document.AddSection(fmt::format("{}: {}", named.name, ValueWithUnit(named)));
    section.Say("  " + named.meaning);
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

// The document of `--list PATH`: each metric with `ok` or the reason why not.
Document StatusDocument(const std::vector<NamedResult>& results) {
  Document document{.title = "", .kind = "Orrery metrics"};
  Document::Table table{
      .key = "",
      .heading = "",
      .columns = {{"", "metric", Unit::kText, 0}, {"", "status", Unit::kText, 100}},
      .max_shown = SIZE_MAX};
  for (const NamedResult& named : results) {
    table.rows.push_back({named.name, named.result.is_ok() ? "ok" : "n/a: " + named.result.reason});
  }
  document.AddSection().Add(std::move(table));
  document.data = DataOf(results);
  return document;
}

// The document of `--list` alone: what each metric means and needs.
Document MetricListDocument() {
  Document document{.title = "", .kind = "Orrery metrics"};
  Document::Table table{.key = "metrics",
                        .heading = "",
                        .columns = {{"metric", "metric", Unit::kText, 0},
                                    {"unit", "unit", Unit::kText, 0},
                                    {"meaning", "meaning", Unit::kText, 0},
                                    {"needs", "needs", Unit::kText, 0}},
                        .max_shown = SIZE_MAX};
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    table.rows.push_back({metric.name, metric.unit, metric.meaning, NeedsText(metric)});
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

report::Document RunDocumentOf(const AnalyzeArguments& arguments, const analyze::RunView& view,
                               const std::vector<NamedResult>& results) {
  std::vector<report::MetricRow> rows;
  for (const NamedResult& named : results) {
    rows.push_back({.name = named.name,
                    .meaning = named.meaning,
                    .value = named.result.value,
                    .unit = named.unit,
                    .reason = named.result.reason});
  }
  return report::RunDocument(report::CollectReport(
      view, {.title = TitleOf(arguments.run.paths), .metrics = std::move(rows)}));
}

// What is printed takes no files: the page is of the whole run, whatever is printed.
Status PrintMetrics(const AnalyzeArguments& arguments, const std::vector<NamedResult>& results) {
  OutputOptions printed = arguments.output;
  printed.html_file.clear();
  return Deliver(arguments.lists ? StatusDocument(results) : MetricsDocument(results), printed);
}

Status AnalyzeOurs(const AnalyzeArguments& arguments, ingest::Run& run) {
  ORRERY_TRY(const auto metrics, ChosenMetrics(arguments.metrics));
  const analyze::RunView view =
      analyze::ViewRun(run.set, MeasurementsOf(run), arguments.selection.options);
  const std::string& html_file = arguments.output.html_file;
  if (!arguments.nvlink_file.empty()) {
    ORRERY_TRY(const report::Document page,
               report::NvlinkDocument(view, TitleOf(arguments.run.paths)));
    ORRERY_TRY_STATUS(WriteOutputFiles(page, {.html_file = arguments.nvlink_file}));
    if (!WantsMetrics(arguments) && html_file.empty()) {
      return {};
    }
  }
  const std::vector<NamedResult> results = EvaluateAll(metrics, view);
  if (!html_file.empty()) {
    ORRERY_TRY_STATUS(
        WriteOutputFiles(RunDocumentOf(arguments, view, results), {.html_file = html_file}));
  }
  if (arguments.output.as_json || arguments.output.as_csv || arguments.lists ||
      (html_file.empty() && WantsMetrics(arguments))) {
    return PrintMetrics(arguments, results);
  }
  return html_file.empty() ? Deliver(RunDocumentOf(arguments, view, results), {}) : Status();
}

Result<int> Analyze(AnalyzeArguments arguments) {
  if (arguments.run.paths.empty()) {
    if (arguments.lists) {
      return Deliver(MetricListDocument(), {}).map([] { return int{kExitOk}; });
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
    ORRERY_TRY_STATUS(AnalyzeOurs(arguments, run));
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
  verb.AddFlag("--csv", arguments.output.as_csv, "print one line a metric");
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
  verb.AddOption("--top", options.top, "peak_kernels: how many peaks").ShowDefault().Positive();
  verb.AddFlag("--nccl-only", options.nccl_only, "peak_kernels: communication kernels only");
}

}  // namespace

void AddAnalyzeCommand(Verb& app) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  Verb verb = app.AddVerb("analyze", "Metrics of a run: all, or --metric NAME");
  verb.Footer(
      "Without --metric: the page to read, most important finding first. A metric that does not\n"
      "apply says why in words. Waiting in collectives is separated from moving data.\n\n"
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
