#include "orrery/analyze/straggler/straggler_analysis.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/recorded_operations.h"
#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/analyze/straggler/timeline_operations.h"
#include "orrery/base/check.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery::analyze {
namespace {

constexpr double kManyDelays = 1.05;  // launch slowdown above which it is said

// The names of StragglerData's fields in the paper's program.
constexpr auto kPublishedNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"slowdown", "S, blocking_slowdown"},
    {"launch_slowdown", "launch_slowdown"},
    {"measured_ns", "step_t_base"},
    {"nodelay_ns", "step_t_nodelay, tori"},
    {"ideal_ns", "step_t_noblk, tideal"},
    {"by_class", "blocking_decompose_by_optype"},
    {"by_stage", "blocking_decompose_by_stage"},
    {"by_dp_rank", "blocking_decompose_by_dp_rank"},
    {"worker_share", "mw"},
    {"last_stage_share", "ms"},
    {"share", "M_W or M_S, rem"},
    {"added_share", "add"},
    {"fixed_ns", "trem"},
    {"alone_ns", "tadd"},
});

std::vector<std::string> AssumptionsOf(const RecordedOperations& recorded) {
  std::vector<std::string> assumptions;
  assumptions.emplace_back(
      recorded.is_by_position
          ? "All ranks run kernels of the same classes in the same order: the ideal duration of a "
            "kernel is the mean over ranks and steps at its place."
          : "The ranks or steps do not run the same classes of kernels in the same order: each "
            "class is scaled to its mean sum over ranks and steps, so that unequal work counts as "
            "straggling.");
  const std::size_t used = recorded.operations.steps.size();
  if (used < recorded.num_steps) {
    assumptions.push_back(fmt::format("Only {} of the {} steps that all ranks have were replayed.",
                                      used, recorded.num_steps));
  }
  if (recorded.num_unmatched > 0) {
    assumptions.push_back(
        fmt::format("{} communication kernels have no counterpart on another rank and keep their "
                    "time, waiting included.",
                    recorded.num_unmatched));
  }
  if (recorded.num_inferred_waits > 0) {
    assumptions.push_back(fmt::format(
        "The recording does not say which stream waits for which: {} kernels are taken to wait for "
        "what ended last on their rank before they began.",
        recorded.num_inferred_waits));
  }
  return assumptions;
}

Result<StragglerAnalysis> AnalyzeRun(const RunView& run) {
  const auto timeline =
      std::ranges::find(run.measurements, kOperationTimeline, &Measurement::format);
  StragglerAnalysis analysis;
  if (timeline != run.measurements.end()) {
    ORRERY_TRY(const OperationSteps operations, TimelineOperations(*timeline->rows));
    ORRERY_TRY(analysis.slowdown, MeasureStragglers(operations, run.options.threads));
    return analysis;
  }
  ORRERY_TRY(const RecordedOperations recorded, OperationsOf(run));
  ORRERY_TRY(analysis.slowdown, MeasureStragglers(recorded.operations, run.options.threads));
  analysis.assumptions = AssumptionsOf(recorded);
  if (analysis.slowdown.launch_slowdown > kManyDelays) {
    analysis.assumptions.push_back(fmt::format(
        "Launch delays, {:.0f} % of the recorded step, do not count: what the host costs is not in "
        "the straggler slowdown.",
        100 * (1 - 1 / analysis.slowdown.launch_slowdown)));
  }
  return analysis;
}

Value StepsData(const StragglerSlowdown& slowdown) {
  return Value::ListOf(slowdown.steps, [](const StepSlowdown& step) {
    return Value::Object()
        .Set("step", step.number < 0 ? Value() : Value(step.number))
        .Set("measured_ns", step.measured_ns)
        .Set("nodelay_ns", step.nodelay_ns)
        .Set("ideal_ns", step.ideal_ns);
  });
}

template <typename Name>
Value Slowdowns(const std::vector<Name>& names, const std::vector<double>& slowdowns) {
  Value data = Value::Object();
  for (std::size_t i = 0; i < names.size(); ++i) {
    data.Set(fmt::format("{}", names[i]), slowdowns[i]);
  }
  return data;
}

Value NumberOrNull(std::int32_t number) {
  return number < 0 ? Value() : Value(std::int64_t{number});
}

Value WorkersData(const StragglerSlowdown& slowdown) {
  Value workers = Value::List();
  for (std::size_t i = 0; i < slowdown.workers.size(); ++i) {
    const StragglerWorker& worker = slowdown.workers[i];
    workers.Add(Value::Object()
                    .Set("rank", std::int64_t{worker.rank})
                    .Set("dp_rank", NumberOrNull(worker.dp_rank))
                    .Set("stage", NumberOrNull(worker.stage))
                    .Set("slowdown", slowdown.by_worker[i]));
  }
  return workers;
}

Value ByWorker(const StragglerSlowdown& slowdown) {
  Value data = Value::Object();
  for (std::size_t i = 0; i < slowdown.workers.size(); ++i) {
    data.Set(fmt::format("{}", slowdown.workers[i].rank), slowdown.by_worker[i]);
  }
  return data;
}

Value ShareData(const StragglerSlowdown& slowdown, const SlowdownShare& share) {
  return Value::Object()
      .Set("share", share.removed)
      .Set("added_share", share.added)
      .Set("fixed_ns", share.fixed_ns)
      .Set("alone_ns", share.alone_ns)
      .Set("ranks", Value::ListOf(share.workers, [&](std::size_t worker) {
             return std::int64_t{slowdown.workers[worker].rank};
           }));
}

}  // namespace

const Result<StragglerAnalysis>& StragglerHolder::Get(const RunView& run) {
  std::call_once(made_, [&] { analysis_ = AnalyzeRun(run); });
  return *analysis_;
}

const Result<StragglerAnalysis>& StragglersOf(const RunView& run) {
  ORRERY_CHECK(run.stragglers != nullptr, "the view was made by ViewRun");
  return run.stragglers->Get(run);
}

Value StragglerData(const Result<StragglerAnalysis>& analysis) {
  if (!analysis) {
    return Value::Object().Set("slowdown", Value()).Set("reason", analysis.error().message());
  }
  const StragglerSlowdown& slowdown = analysis->slowdown;
  Value names = Value::Object();
  for (const auto& [ours, published] : kPublishedNames) {
    names.Set(ours, published);
  }
  return Value::Object()
      .Set("slowdown", slowdown.slowdown)
      .Set("reason", Value())
      .Set("launch_slowdown", slowdown.launch_slowdown)
      .Set("measured_ns", slowdown.measured_ns)
      .Set("nodelay_ns", slowdown.nodelay_ns)
      .Set("ideal_ns", slowdown.ideal_ns)
      .Set("by_class", Slowdowns(slowdown.classes, slowdown.by_class))
      .Set("by_worker", ByWorker(slowdown))
      .Set("by_stage", Slowdowns(slowdown.stages, slowdown.by_stage))
      .Set("by_dp_rank", Slowdowns(slowdown.dp_ranks, slowdown.by_dp_rank))
      .Set("worker_share", ShareData(slowdown, slowdown.worst_workers))
      .Set("last_stage_share",
           slowdown.last_stage ? ShareData(slowdown, *slowdown.last_stage) : Value())
      .Set("workers", WorkersData(slowdown))
      .Set("steps", StepsData(slowdown))
      .Set("assumptions", Value::ListOf(analysis->assumptions))
      .Set("published_names", std::move(names));
}

}  // namespace orrery::analyze
