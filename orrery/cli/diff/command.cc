#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/measurements.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/cli/analyze/options.h"
#include "orrery/cli/diff/diff.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/run.h"

namespace orrery::cli {
namespace {

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
  const analyze::AnalyzeOptions& options = arguments.selection.options;
  ORRERY_TRY(const RunToAnalyze before,
             ReadRunToAnalyze(arguments.run, {arguments.path_before}, options.align));
  ORRERY_TRY(const RunToAnalyze after,
             ReadRunToAnalyze(arguments.run, {arguments.path_after}, options.align));
  for (const auto& [path, read] :
       {std::pair(&arguments.path_before, &before), std::pair(&arguments.path_after, &after)}) {
    if (const Status found = CheckSelection(arguments.selection, *read->run); !found) {
      return FailWithin(*path, found);
    }
    if (arguments.metrics.empty()) {
      ORRERY_TRY_STATUS(CheckGpuWork(arguments.selection, *read->run, *path));
    }
  }
  const analyze::RunView view_before = ViewOf(before, options);
  const analyze::RunView view_after = ViewOf(after, options);
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
  return before.run->is_partial() || after.run->is_partial() ? kExitPartial : kExitOk;
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
