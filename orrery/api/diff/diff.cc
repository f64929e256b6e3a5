#include "orrery/api/diff.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/api/analyze/options.h"
#include "orrery/api/cancellation.h"
#include "orrery/api/diff/page.h"
#include "orrery/api/errors.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"

namespace orrery::api {
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

// A wrong name is said before a long read, and so is a metric that cannot be evaluated.
Result<std::vector<analyze::NamedMetric>> MetricsToCompare(const DiffRequest& request) {
  ORRERY_TRY(std::vector<analyze::NamedMetric> metrics, ChosenMetrics(request.metrics));
  for (const analyze::NamedMetric& named : metrics) {
    if (request.fail_over && !request.metrics.empty() &&
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
Status CheckEvaluated(const DiffRequest& request, const std::vector<MetricChange>& changes) {
  bool is_any_evaluated = false;
  for (const MetricChange& change : changes) {
    is_any_evaluated |= change.IsEvaluated();
    if (!request.metrics.empty() && !change.IsEvaluated()) {
      const bool lacks_before = !change.before.has_value();
      return NotFound("{}: {} is n/a: {}", lacks_before ? request.path_before : request.path_after,
                      change.name, lacks_before ? change.reason_before : change.reason_after);
    }
  }
  if (!is_any_evaluated) {
    return NotFound("--fail-over: the runs have no metric in common that can get better or worse");
  }
  return {};
}

std::string_view BetterName(analyze::Better better) {
  return better == analyze::Better::kNeither  ? "neither"
         : better == analyze::Better::kHigher ? "higher"
                                              : "lower";
}

DiffStep StepOf(const StepParts& parts) {
  return {.ranks = static_cast<std::int64_t>(parts.num_ranks),
          .steps = static_cast<std::int64_t>(parts.num_steps),
          .step_time_ns = parts.step_ns,
          .recorded_span_ns = parts.span_ns,
          .compute_ns = parts.compute_ns,
          .exposed_communication_ns = parts.exposed_communication_ns,
          .exposed_memory_ns = parts.exposed_memory_ns,
          .idle_ns = parts.idle_ns,
          .window_ns = parts.window_ns};
}

DiffMetric MetricOf(const MetricChange& change) {
  const bool is_unknown = change.GetVerdict() == analyze::diff::Verdict::kUnknown;
  return {.unit = change.unit,
          .better = std::string(BetterName(change.better)),
          .before = change.before,
          .after = change.after,
          .percent = change.Percent(),
          .verdict = is_unknown ? "unknown" : std::string(VerdictName(change.GetVerdict())),
          .reason_before = change.before ? std::nullopt : std::optional(change.reason_before),
          .reason_after = change.after ? std::nullopt : std::optional(change.reason_after)};
}

DiffCost CostOf(const Cost& cost, const Section& section) {
  DiffCost result{.count = cost.count, .device_ns = cost.device_ns};
  for (const CostField& field : section.fields) {
    (field.key == "host_ns"   ? result.host_ns
     : field.key == "wait_ns" ? result.wait_ns
                              : result.bytes) = cost.*field.member;
  }
  return result;
}

std::vector<DiffChange> ChangesOf(const RunDiff& diff, const Section& section) {
  std::vector<DiffChange> changes;
  for (const CostChange& change : diff.*section.member) {
    changes.push_back({.name = change.name,
                       .kernel_class = change.kernel_class,
                       .change = std::string(ChangeName(change.change)),
                       .difference_ns = change.DifferenceNs(),
                       .before = CostOf(change.before, section),
                       .after = CostOf(change.after, section)});
  }
  return changes;
}

DiffResult ResultOf(DiffPage page) {
  const RunDiff& diff = page.diff;
  DiffResult result{.before = page.path_before,
                    .after = page.path_after,
                    .fail_over_percent = page.limit_percent,
                    .step = {.before = StepOf(diff.step_before), .after = StepOf(diff.step_after)}};
  for (const MetricChange& change : page.worse) {
    result.worse.push_back(change.name);
  }
  for (const MetricChange& change : diff.metrics) {
    result.metrics.emplace_back(change.name, MetricOf(change));
  }
  for (const Section& section : kSections) {
    result.*section.result = ChangesOf(diff, section);
  }
  for (const MemoryChange& change : diff.memory) {
    result.memory.push_back({.name = change.name,
                             .change = std::string(ChangeName(change.change)),
                             .before_bytes = change.before_bytes,
                             .after_bytes = change.after_bytes});
  }
  if (!page.worse.empty()) {
    result.worst = WorstText(page);
  }
  result.page = std::make_shared<const DiffPage>(std::move(page));
  return result;
}

Result<SharedRun> ReadSide(const DiffRequest& request, const std::string& path,
                           const SharedRun& shared, trace::AlignClocks align) {
  RunInput input = request.run;
  input.paths = {path};
  return ReadAndAlign(input, shared, align, request.call.progress);
}

Status CheckSide(const DiffRequest& request, const analyze::AnalyzeOptions& options,
                 const std::string& path, const ingest::Run& run) {
  if (const Status found = CheckSelection(request.selection, options, run); !found) {
    return FailWithin(path, found);
  }
  return request.metrics.empty() ? CheckGpuWork(options, run, path) : Status();
}

Result<DiffResult> Compare(const DiffRequest& request,
                           const std::vector<analyze::NamedMetric>& metrics,
                           const analyze::AnalyzeOptions& options) {
  ORRERY_TRY(const SharedRun before,
             ReadSide(request, request.path_before, request.shared_before, options.align));
  ORRERY_TRY(const SharedRun after,
             ReadSide(request, request.path_after, request.shared_after, options.align));
  ORRERY_TRY_STATUS(CheckSide(request, options, request.path_before, *before.run));
  ORRERY_TRY_STATUS(CheckSide(request, options, request.path_after, *after.run));
  const analyze::RunView view_before = ViewOf(before, options);
  const analyze::RunView view_after = ViewOf(after, options);
  DiffPage page{.path_before = request.path_before,
                .path_after = request.path_after,
                .diff = analyze::diff::Compare(view_before, view_after, metrics),
                .limit_percent = request.fail_over,
                .worse = {}};
  if (page.limit_percent) {
    ORRERY_TRY_STATUS(CheckEvaluated(request, page.diff.metrics));
    page.worse = analyze::diff::WorseThan(page.diff.metrics, *page.limit_percent);
  }
  DiffResult result = ResultOf(std::move(page));
  result.is_partial = before.run->is_partial() || after.run->is_partial();
  return result;
}

}  // namespace

Result<DiffResult> Diff(const Session& /*session*/, const DiffRequest& request) {
  ORRERY_TRY(const auto metrics, MetricsToCompare(request));
  ORRERY_TRY(const analyze::AnalyzeOptions options,
             OptionsOf(request.selection, request.run.threads));
  return RunCancellable(request.call, [&] { return Compare(request, metrics, options); });
}

report::Document MakeDocument(const DiffResult& result) {
  report::Document document = DiffDocument(*result.page);
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
