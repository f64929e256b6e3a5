#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/cli/analyze/options.h"
#include "orrery/cli/diff/diff.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/format.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::cli {
namespace {

constexpr std::size_t kMaxRows = 12;
constexpr std::size_t kMaxNameWidth = 60;
constexpr double kMarkersDiffer = 0.05;  // of the step

std::string DurationText(double ns) {
  return draw::FormatDuration({std::llround(ns)});
}

// Returns "+12.3 ms" or "-12.3 ms".
std::string SignedTimeText(double ns) {
  const std::string text = DurationText(ns);
  return std::llround(ns) > 0 ? "+" + text : text;
}

/// The time of a step in both runs, measured alike.
struct StepTimes {
  double before_ns = 0;
  double after_ns = 0;
  std::string_view per;

  [[nodiscard]] double DifferenceNs() const { return after_ns - before_ns; }
};

StepTimes TimesOf(const RunDiff& diff) {
  const StepParts& before = diff.step_before;
  const StepParts& after = diff.step_after;
  if (before.marker_ns && after.marker_ns) {
    return {*before.marker_ns, *after.marker_ns, "a step"};
  }
  return {before.window_ns, after.window_ns,
          before.num_steps > 0 && after.num_steps > 0 ? "a step" : "in all"};
}

// The change in the given direction: positive when it is part of the cause.
double Along(double difference_ns, double direction) {
  return direction < 0 ? -difference_ns : difference_ns;
}

const StepPart& LargestPart(const RunDiff& diff, double direction) {
  const auto share = [&](const StepPart& part) {
    return Along(diff.step_after.*part.member - diff.step_before.*part.member, direction);
  };
  // The last part is the sum of the others.
  return *std::ranges::max_element(std::span(kStepParts).first(kStepParts.size() - 1), {}, share);
}

bool IsComputeKernel(const CostChange& change) {
  return change.kernel_class != trace::KernelClassName(trace::KernelClass::kCommunication);
}

// The largest change of a list (they are in order) in the same direction.
template <typename Test>
std::string LargestIn(const std::vector<CostChange>& changes, double direction, Test&& belongs) {
  for (const CostChange& change : changes) {
    if (belongs(change) && Along(change.DifferenceNs(), direction) > 0) {
      return fmt::format(", there in {} ({})", draw::Truncated(change.name, kMaxNameWidth),
                         SignedTimeText(change.DifferenceNs()));
    }
  }
  return "";
}

std::string CauseText(const RunDiff& diff, double direction) {
  const StepPart& part = LargestPart(diff, direction);
  const double part_ns = diff.step_after.*part.member - diff.step_before.*part.member;
  const double all_ns = diff.step_after.window_ns - diff.step_before.window_ns;
  if (Along(part_ns, direction) <= 0) {
    return "";
  }
  const bool is_most = Along(all_ns, direction) > 0 && std::abs(part_ns) * 2 >= std::abs(all_ns);
  std::string text = fmt::format("; {} {} ({})", is_most ? "most of it in" : "the largest part is",
                                 part.label, SignedTimeText(part_ns));
  if (part.member == &StepParts::compute_ns) {
    text += LargestIn(diff.kernels, direction, IsComputeKernel);
  } else if (part.member == &StepParts::exposed_communication_ns) {
    text += LargestIn(diff.collectives, direction, [](const CostChange&) { return true; });
  }
  return text;
}

// Markers are of the host: where work on the device does not follow them, both are said.
std::string DeviceText(const RunDiff& diff, const StepTimes& times) {
  const double before_ns = diff.step_before.window_ns;
  const double after_ns = diff.step_after.window_ns;
  const double otherwise_ns = after_ns - before_ns - times.DifferenceNs();
  return std::abs(otherwise_ns) <= kMarkersDiffer * times.before_ns
             ? ""
             : fmt::format("; on the device a step spans {} → {}", DurationText(before_ns),
                           DurationText(after_ns));
}

// Returns the sentence that a comparison comes down to: "B is 3.2 % slower than A: 607 ms → 626 ms
// a step; most of it in compute (+15.0 ms), there in sgemm (+12.0 ms)".
std::string HeadlineText(const RunDiff& diff) {
  const StepTimes times = TimesOf(diff);
  if (times.before_ns <= 0 || times.after_ns <= 0) {
    return "The time of a step is not known in both runs";
  }
  const double percent = 100 * times.DifferenceNs() / times.before_ns;
  if (std::abs(percent) < 0.05) {
    return fmt::format("B is as fast as A: {} {}{}", DurationText(times.before_ns), times.per,
                       DeviceText(diff, times));
  }
  return fmt::format("B is {:.1f} % {} than A: {} → {} {}{}{}", std::abs(percent),
                     percent > 0 ? "slower" : "faster", DurationText(times.before_ns),
                     DurationText(times.after_ns), times.per, CauseText(diff, percent),
                     DeviceText(diff, times));
}

std::string PercentText(double before, double after) {
  if (before == after) {
    return "0.0 %";
  }
  return before == 0 ? "–" : fmt::format("{:+.1f} %", 100 * (after - before) / std::abs(before));
}

std::string RunLine(std::string_view letter, const std::string& path, const StepParts& parts) {
  return fmt::format(
      "{}: {} ({} rank{}, {})", letter, path, parts.num_ranks, parts.num_ranks == 1 ? "" : "s",
      parts.num_steps == 0
          ? "no step markers"
          : fmt::format("{} step{}", parts.num_steps, parts.num_steps == 1 ? "" : "s"));
}

Document::Column NumberColumn(std::string header) {
  return {"", std::move(header), Unit::kNumber};
}

Document::Table StepTable(const StepParts& before, const StepParts& after) {
  Document::Table table{.columns = {AsText("time of a step"), NumberColumn("A"), NumberColumn("B"),
                                    NumberColumn("difference"), NumberColumn("change")}};
  const auto add = [&](std::string_view label, double first, double second) {
    table.rows.push_back({label, DurationText(first), DurationText(second),
                          SignedTimeText(second - first), PercentText(first, second)});
  };
  for (const StepPart& part : kStepParts) {
    add(part.label, before.*part.member, after.*part.member);
  }
  if (before.marker_ns && after.marker_ns) {
    add("step, by its markers", *before.marker_ns, *after.marker_ns);
  }
  return table;
}

std::string MetricValue(std::optional<double> value) {
  return value ? fmt::format("{:.6g}", *value) : "n/a";
}

Document::Table MetricTable(const std::vector<MetricChange>& changes) {
  Document::Table table{.columns = {AsText("metric"), AsText("unit"), NumberColumn("A"),
                                    NumberColumn("B"), NumberColumn("change"), AsText("verdict")},
                        .max_shown = SIZE_MAX};
  for (const MetricChange& change : changes) {
    if (change.better == analyze::Better::kLowerTime && change.IsEvaluated()) {
      table.caption = "The verdict on a share of the step is that on its time.";
    }
    if (change.before || change.after) {
      const bool has_both = change.before && change.after;
      table.rows.push_back({change.name, change.unit, MetricValue(change.before),
                            MetricValue(change.after),
                            has_both ? PercentText(*change.before, *change.after) : "–",
                            VerdictName(change.GetVerdict())});
    }
  }
  return table;
}

std::vector<Document::Column> CostColumns(const Section& section) {
  std::vector<Document::Column> columns{{"", std::string(section.title)}, AsText("change")};
  for (const char* const header : {"count A", "count B", "time A", "time B", "difference"}) {
    columns.push_back(NumberColumn(header));
  }
  for (const CostField& field : section.fields) {
    columns.push_back(NumberColumn(std::string(field.title)));
  }
  return columns;
}

std::string SignedBytesText(double bytes) {
  const std::string text = draw::FormatBytes({std::llround(bytes)});
  return bytes > 0 ? "+" + text : text;
}

std::vector<Value> CostCells(const CostChange& change, const Section& section) {
  const auto& before = change.before;
  const auto& after = change.after;
  std::vector<Value> cells{change.name,
                           ChangeName(change.change),
                           before.count,
                           after.count,
                           DurationText(before.device_ns),
                           DurationText(after.device_ns),
                           SignedTimeText(after.device_ns - before.device_ns)};
  for (const CostField& field : section.fields) {
    const double difference = after.*field.member - before.*field.member;
    cells.emplace_back(field.key == "bytes" ? SignedBytesText(difference)
                                            : SignedTimeText(difference));
  }
  return cells;
}

void AddCosts(const std::vector<CostChange>& changes, const Section& section, Document& document) {
  if (changes.empty()) {
    return;
  }
  Document::Table table{.columns = CostColumns(section), .max_shown = kMaxRows};
  for (const CostChange& change : changes) {
    if (change.change != Change::kUnchanged) {
      table.rows.push_back(CostCells(change, section));
    }
  }
  if (!table.rows.empty()) {
    document.AddSection().Add(std::move(table));
    return;
  }
  document.AddSection().Say(
      fmt::format("{}: no change ({} name{})", section.title,
                  draw::FormatCount(static_cast<std::int64_t>(changes.size())),
                  changes.size() == 1 ? "" : "s"));
}

Document::Table MemoryTable(const std::vector<MemoryChange>& changes) {
  const auto bytes_text = [](std::optional<std::int64_t> bytes) {
    return bytes ? draw::FormatBytes({*bytes}) : std::string("n/a");
  };
  Document::Table table{.columns = {AsText("largest use of memory"), NumberColumn("A"),
                                    NumberColumn("B"), NumberColumn("change")},
                        .max_shown = SIZE_MAX};
  for (const MemoryChange& change : changes) {
    const bool has_both = change.before_bytes && change.after_bytes;
    table.rows.push_back({change.name, bytes_text(change.before_bytes),
                          bytes_text(change.after_bytes),
                          has_both ? PercentText(static_cast<double>(*change.before_bytes),
                                                 static_cast<double>(*change.after_bytes))
                                   : "–"});
  }
  return table;
}

Document DiffDocument(const DiffPage& page) {
  const RunDiff& diff = page.diff;
  Document document{.title = RunLine("A", page.path_before, diff.step_before),
                    .kind = "Orrery diff"};
  document.AddSection().Say(RunLine("B", page.path_after, diff.step_after));
  document.AddSection().Say(HeadlineText(diff), Document::Text::Style::kVerdict);
  const auto add = [&](Document::Table table) {
    if (!table.rows.empty()) {
      document.AddSection().Add(std::move(table));
    }
  };
  if (diff.step_before.window_ns > 0 || diff.step_after.window_ns > 0) {
    add(StepTable(diff.step_before, diff.step_after));
  }
  add(MetricTable(diff.metrics));
  for (const Section& section : kSections) {
    AddCosts(diff.*section.member, section, document);
  }
  add(MemoryTable(diff.memory));
  document.data = DiffData(page);
  document.sheets.emplace_back("changes", DiffTable(page));
  return document;
}

std::string WorstText(const DiffPage& page) {
  const MetricChange& worst = page.worse.front();
  const double percent = worst.WorsePercent();
  const bool is_share = worst.better == analyze::Better::kLowerTime;
  std::string text = is_share && std::isfinite(percent)
                         ? fmt::format("{} takes {:.1f} % more time", worst.name, percent)
                     : std::isfinite(percent)
                         ? fmt::format("{} got {:.1f} % worse", worst.name, percent)
                         : fmt::format("{} got worse, from nothing", worst.name);
  text += fmt::format(" ({:.6g} → {:.6g}{}{}), more than the {:g} % that --fail-over allows",
                      *worst.before, *worst.after, worst.unit.empty() ? "" : " ", worst.unit,
                      *page.limit_percent);
  if (page.worse.size() > 1) {
    text += fmt::format("; so did {} more", page.worse.size() - 1);
  }
  return text;
}

struct DiffArguments {
  std::string path_before;
  std::string path_after;
  RunArguments run;
  Selection selection;
  std::vector<std::string> metrics;
  std::optional<double> limit_percent;
  OutputOptions output;
};

// A wrong name is said before a long read, and so is a metric that cannot be evaluated.
Result<std::vector<analyze::NamedMetric>> MetricsToCompare(const DiffArguments& arguments) {
  ORRERY_TRY(std::vector<analyze::NamedMetric> metrics, ChosenMetrics(arguments.metrics));
  for (const analyze::NamedMetric& named : metrics) {
    if (arguments.limit_percent && !arguments.metrics.empty() &&
        named.metric->better == analyze::Better::kNeither) {
      return InvalidInput(
          "--metric {}: neither more nor less of it is better, so --fail-over "
          "cannot evaluate it",
          named.name());
    }
  }
  return metrics;
}

// A check that compared nothing must not pass: not when a requested metric is missing, and not when
// there is none.
Status CheckEvaluated(const DiffArguments& arguments, const std::vector<MetricChange>& changes) {
  bool is_any_evaluated = false;
  for (const MetricChange& change : changes) {
    is_any_evaluated |= change.IsEvaluated();
    if (!arguments.metrics.empty() && !change.IsEvaluated()) {
      const bool lacks_before = !change.before.has_value();
      return NotFound("{}: {} is n/a: {}",
                      lacks_before ? arguments.path_before : arguments.path_after, change.name,
                      lacks_before ? change.reason_before : change.reason_after);
    }
  }
  if (!is_any_evaluated) {
    return NotFound("--fail-over: the runs have no metric in common that can get better or worse");
  }
  return {};
}

Result<int> Diff(DiffArguments arguments) {
  ORRERY_TRY(const auto metrics, MetricsToCompare(arguments));
  ORRERY_TRY_STATUS(ReadSelection(arguments.selection));
  arguments.selection.options.threads = arguments.run.threads;
  ORRERY_TRY(ingest::Run before, ReadRunWithProgress(arguments.run, {arguments.path_before}));
  ORRERY_TRY(ingest::Run after, ReadRunWithProgress(arguments.run, {arguments.path_after}));
  for (const auto& [path, run] :
       {std::pair(&arguments.path_before, &before), std::pair(&arguments.path_after, &after)}) {
    if (const Status found = CheckSelection(arguments.selection, *run); !found) {
      return FailWithin(*path, found);
    }
    if (arguments.metrics.empty()) {
      ORRERY_TRY_STATUS(CheckGpuWork(arguments.selection, *run, *path));
    }
  }
  const analyze::AnalyzeOptions& options = arguments.selection.options;
  const analyze::RunView view_before =
      analyze::ViewRun(before.set, MeasurementsOf(before), options);
  const analyze::RunView view_after = analyze::ViewRun(after.set, MeasurementsOf(after), options);
  DiffPage page{.path_before = arguments.path_before,
                .path_after = arguments.path_after,
                .diff = analyze::diff::Compare(view_before, view_after, metrics),
                .limit_percent = arguments.limit_percent,
                .worse = {}};
  if (page.limit_percent) {
    ORRERY_TRY_STATUS(CheckEvaluated(arguments, page.diff.metrics));
    page.worse = analyze::diff::WorseThan(page.diff.metrics, *page.limit_percent);
  }
  ORRERY_TRY_STATUS(Deliver(DiffDocument(page), arguments.output));
  if (!page.worse.empty()) {
    PrintNotice(WorstText(page));
    return kExitWorse;
  }
  return before.is_partial() || after.is_partial() ? kExitPartial : kExitOk;
}

}  // namespace

void AddDiffCommand(Verb& app) {
  auto arguments = std::make_shared<DiffArguments>();
  Verb verb = app.AddVerb("diff", "What changed between two runs");
  verb.AddOption("A", arguments->path_before, "file or folder of the first run").Required();
  verb.AddOption("B", arguments->path_after, "file or folder of the second run").Required();
  verb.AddOption("--fail-over PERCENT", arguments->limit_percent,
                 "end with status 1 when a metric got worse by more than so many percent")
      .Range(0.0, 1e6);
  verb.AddOption("--metric", arguments->metrics, "only this metric; may be repeated")
      .OneValueEach();
  AddOutputOptions(verb, arguments->output);
  verb.AddFlag("--csv", arguments->output.as_csv, "print one line for each thing compared");
  AddSelectionOptions(verb, arguments->selection);
  AddRunOptions(verb, arguments->run);
  verb.OnRun([arguments] { return Diff(*arguments); });
}

}  // namespace orrery::cli
