#include "orrery/api/analyze.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/measurements.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/straggler_analysis.h"
#include "orrery/analyze/straggler/timeline_operations.h"
#include "orrery/api/analyze/options.h"
#include "orrery/api/analyze/summary.h"
#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/report/metric_rows.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/clock/clock_alignment.h"

namespace orrery::api {
namespace {

using report::MetricRow;

std::vector<MetricRow> EvaluateCompat(const AnalyzeRequest& request,
                                      const analyze::AnalyzeOptions& options,
                                      const ingest::Run& run) {
  const std::vector<analyze::Measurement> measurements = analyze::MeasurementsOf(run.tables);
  const compat::ccl_bench::Run compat{
      .set = &run.set, .measurements = measurements, .options = options};
  std::vector<std::string> names = request.metrics;
  const auto known = compat::ccl_bench::MetricNames();
  if (names.empty()) {
    names.assign(known.begin(), known.end());
  }
  std::vector<MetricRow> results(names.size());
  ParallelFor(names.size(), options.threads, [&](std::size_t i) {
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

Result<AnalyzeResult> AnalyzeOurs(const AnalyzeRequest& request,
                                  const analyze::AnalyzeOptions& options, const SharedRun& read) {
  ORRERY_TRY(const auto metrics, ChosenMetrics(request.metrics));
  const analyze::RunView view = ViewOf(read, options);
  AnalyzeResult result;
  ORRERY_TRY(result.is_timeline, IsTimeline(*read.run, view));
  const std::string title = TitleOf(request.run.paths);
  if (request.needs_nvlink_page) {
    ORRERY_TRY(report::Document page, report::NvlinkDocument(view, title));
    result.nvlink_page = std::make_shared<const report::Document>(std::move(page));
  }
  if (!request.needs_metrics && !request.needs_report) {
    return result;
  }
  const std::vector<MetricRow> rows = report::EvaluateAll(metrics, view);
  result.notes = report::NotesOf(view);
  result.metrics = MetricsOf(rows);
  if (request.needs_report) {
    result.report =
        std::make_shared<const report::RunReport>(report::CollectReport(view, title, rows));
  }
  if (request.needs_report && request.metrics.empty()) {
    AddSummary(*result.report, result);
    result.straggler = analyze::StragglerData(analyze::StragglersOf(view));
  }
  return result;
}

Result<AnalyzeResult> AnalyzeRun(const AnalyzeRequest& request,
                                 const analyze::AnalyzeOptions& options) {
  const bool is_ours = request.compat.empty();
  ORRERY_TRY(
      const SharedRun read,
      ReadAndAlign(request.run, request.shared,
                   is_ours ? options.align : trace::AlignClocks::kNever, request.call.progress));
  const ingest::Run& run = *read.run;
  ORRERY_TRY_STATUS(CheckSelection(request.selection, options, run));
  // A user who asks for some metrics gets for each the reason why it does not apply.
  if (is_ours && request.metrics.empty() && !request.accepts_no_gpu_work) {
    ORRERY_TRY_STATUS(CheckGpuWork(options, run, request.run.paths.front()));
  }
  AnalyzeResult result;
  if (is_ours) {
    ORRERY_TRY(result, AnalyzeOurs(request, options, read));
  } else {
    result.metrics = MetricsOf(EvaluateCompat(request, options, run));
  }
  result.is_partial = run.is_partial();
  return result;
}

Result<analyze::AnalyzeOptions> OptionsOf(const AnalyzeRequest& request) {
  ORRERY_TRY(analyze::AnalyzeOptions options, OptionsOf(request.selection, request.run.threads));
  for (const std::string& text : request.what_if) {
    ORRERY_TRY(options.what_if.emplace_back(), ParseWhatIf(text));
  }
  options.distribute_by_time = request.by == "time";
  options.link = request.link;
  options.direction = request.direction == "tx"   ? analyze::LinkDirection::kSent
                      : request.direction == "rx" ? analyze::LinkDirection::kReceived
                                                  : analyze::LinkDirection::kBoth;
  options.gpu = request.gpu;
  options.top = request.top;
  options.nccl_only = request.nccl_only;
  return options;
}

}  // namespace

Result<AnalyzeResult> Analyze(const Session& /*session*/, const AnalyzeRequest& request) {
  if (request.run.paths.empty()) {
    return InvalidInput("PATH is required");
  }
  if (request.compat.empty()) {
    // A wrong name is said before a long read.
    ORRERY_TRY([[maybe_unused]] const auto metrics, ChosenMetrics(request.metrics));
  }
  ORRERY_TRY(const analyze::AnalyzeOptions options, OptionsOf(request));
  return RunCancellable(request.call, [&] { return AnalyzeRun(request, options); });
}

}  // namespace orrery::api
