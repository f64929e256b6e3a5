#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/api/predict.h"
#include "orrery/api/predict/step_intervals.h"
#include "orrery/api/predict/trace_answer.h"
#include "orrery/learn/interval.h"
#include "orrery/report/document.h"
#include "orrery/simulate/recorded_job.h"
#include "orrery/simulate/replay.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/recorded/graph_prices.h"
#include "orrery/workload/recorded/host/host_model.h"

namespace orrery::api {
namespace {

using simulate::RankStep;
using simulate::RecordedJob;
using workload::HostCostSource;

double Seconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) * 1e-12;
}

PredictedHost HostResult(const Prediction& prediction) {
  const workload::HostCoverage& coverage = prediction.coverage;
  PredictedHost host{.source = prediction.host,
                     .operators = coverage.operators,
                     .recomputed_operators = coverage.recomputed,
                     .launches = coverage.launches,
                     .waits = coverage.waits,
                     .costs_by_name = Lookups(coverage, HostCostSource::kName),
                     .costs_as_recorded = Lookups(coverage, HostCostSource::kRecorded),
                     .costs_by_kind = Lookups(coverage, HostCostSource::kKind),
                     .costs_global = Lookups(coverage, HostCostSource::kGlobal),
                     .costs_unknown = Lookups(coverage, HostCostSource::kNothing)};
  host.operators_s = coverage.operators_ns * 1e-9;
  host.program_s = coverage.program_ns * 1e-9;
  if (prediction.pace.operators > 0) {
    host.pace = prediction.pace.ratio;
    host.pace_under_profiler = prediction.pace.under_profiler;
    host.pace_operators = prediction.pace.operators;
    host.profiler_us = prediction.pace.profiler.whole_ns * 1e-3;
  }
  if (prediction.loader_batch_s > 0) {
    host.loader_batch_s = prediction.loader_batch_s;
  }
  return host;
}

PredictedModels ModelsResult(const workload::PricingSummary& pricing) {
  static_assert(workload::kNumEstimateSources == 4);
  return {.calls = pricing.calls,
          .unknown_calls = pricing.unknown_calls,
          .operators_of_this_gpu = pricing.operators[0],
          .operators_of_siblings = pricing.operators[1],
          .operators_of_all_gpus = pricing.operators[2],
          .operators_by_roofline = pricing.operators[3],
          .operators_extrapolated = pricing.extrapolated};
}

// JSON has the error of a rank wherever it is measured, a table only where all are.
PredictedRank RankResult(const RankStep& step) {
  PredictedRank rank{.rank = step.rank,
                     .begin_s = Seconds(step.begin_ps),
                     .step_time_s = Seconds(step.step_ps),
                     .wait_for_ranks_s = Seconds(step.waiting_ps)};
  if (step.measured_ps > 0) {
    rank.measured_step_s = Seconds(step.measured_ps);
    rank.error = ErrorOf(step);
  }
  return rank;
}

void SetMeasured(const Prediction& prediction, PredictTraceResult& result) {
  if (prediction.measured_step_s <= 0) {
    return;
  }
  result.measured_step_s = prediction.measured_step_s;
  for (const OperatorError& error : prediction.worst) {
    result.worst_operators.push_back({.name = error.name,
                                      .calls = error.calls,
                                      .predicted_s = error.predicted_s,
                                      .measured_s = error.measured_s});
  }
}

}  // namespace

std::int64_t Lookups(const workload::HostCoverage& coverage, HostCostSource source) {
  return coverage.lookups[static_cast<std::size_t>(source)];
}

double ErrorOf(const RankStep& step) {
  return Seconds(step.step_ps) / Seconds(step.measured_ps) - 1;
}

bool AreMeasured(const RecordedJob& job) {
  return std::ranges::all_of(job.ranks, [](const RankStep& step) { return step.measured_ps > 0; });
}

std::string HostSourceText(const RanksPrediction& prediction) {
  switch (prediction.job.host) {
    case simulate::HostSource::kGiven:
      return prediction.host_source;
    case simulate::HostSource::kOtherRanks:
      return "recordings of the other half of the ranks, under their profiler";
    case simulate::HostSource::kShared:
      break;
  }
  return "shared costs";
}

std::vector<std::string> NotModelled(const RanksPrediction& prediction) {
  std::vector<std::string> sentences = prediction.not_modelled;
  if (prediction.job.pricing.unknown_calls > 0) {
    sentences.push_back(fmt::format(
        "{} calls are unknown to the models and estimated from the bytes of their tensors: {}",
        prediction.job.pricing.unknown_calls, fmt::join(prediction.job.unknown_names, ", ")));
  }
  for (const trace::Problem& problem : prediction.job.problems.all()) {
    sentences.push_back(fmt::format("{} {}", problem.count, problem.what));
  }
  if (!AreMeasured(prediction.job)) {
    sentences.emplace_back("all ranks begin the step together; only recordings tell otherwise");
  }
  return sentences;
}

learn::TimeInterval IntervalOf(const Prediction& prediction) {
  const workload::PricingSummary& pricing = prediction.pricing;
  std::int64_t operators = 0;
  for (const std::int64_t count : pricing.operators) {
    operators += count;
  }
  learn::TimeInterval interval =
      IntervalOfStep(Seconds(prediction.figures.step_ps),
                     {.is_recorded = !prediction.is_priced,
                      .is_rescaled = !prediction.is_priced && pricing.seconds > 0,
                      .is_host_given = prediction.is_host_known || prediction.pace.operators > 0,
                      .host_bound = prediction.figures.HostBoundShare(),
                      .uncertain = operators == 0 ? 0
                                                  : static_cast<double>(pricing.extrapolated) /
                                                        static_cast<double>(operators),
                      .unmodelled = pricing.UnmodelledShare(),
                      .by_bytes = pricing.ByBytesShare(),
                      .loader_error = prediction.loader_error});
  interval.high_s = std::max(interval.high_s, prediction.most_batch_s);
  // The program may allow TF32.
  if (prediction.tf32_step_ps > 0) {
    interval.low_s = std::min(interval.low_s, Seconds(prediction.tf32_step_ps));
  }
  return interval;
}

workload::PricingSummary PricingOf(const RanksPrediction& prediction) {
  workload::PricingSummary pricing = prediction.job.pricing;
  pricing.Add(prediction.pricing);
  return pricing;
}

PredictTraceResult MakeResult(const Prediction& prediction) {
  const simulate::StepFigures& figures = prediction.figures;
  const learn::TimeInterval interval = IntervalOf(prediction);
  PredictTraceResult result{.trace = prediction.path,
                            .gpu = prediction.gpu,
                            .low_s = interval.low_s,
                            .active_time_s = Seconds(figures.active_ps),
                            .host_bound = figures.HostBoundShare(),
                            .idle_for_host_s = Seconds(figures.host_bound_ps),
                            .idle_other_s = Seconds(figures.other_idle_ps),
                            .kernels = figures.kernels,
                            .kernel_times = prediction.kernels,
                            .unmodelled_share = prediction.pricing.UnmodelledShare(),
                            .host = HostResult(prediction),
                            .not_modelled = prediction.not_modelled,
                            .is_partial = prediction.is_partial};
  if (!prediction.is_lower_bound) {
    result.step_time_s = Seconds(figures.step_ps);
    result.high_s = interval.high_s;
  }
  if (prediction.is_priced) {
    result.models = ModelsResult(prediction.pricing);
  }
  SetMeasured(prediction, result);
  result.document = std::make_shared<const report::Document>(MakeDocument(prediction));
  return result;
}

PredictTraceResult MakeResult(const RanksPrediction& prediction) {
  const bool is_recorded = prediction.gpu == nullptr;
  PredictTraceResult result{.trace = prediction.path,
                            .gpu = is_recorded ? "the recorded GPU" : prediction.gpu->name,
                            .cluster = prediction.cluster->name,
                            .kernel_times = is_recorded ? prediction.kernels : "from models",
                            .unmodelled_share = PricingOf(prediction).UnmodelledShare(),
                            .host = {.source = HostSourceText(prediction)},
                            .not_modelled = NotModelled(prediction)};
  for (const RankStep& step : prediction.job.ranks) {
    result.ranks.push_back(RankResult(step));
  }
  result.document = std::make_shared<const report::Document>(MakeDocument(prediction));
  return result;
}

}  // namespace orrery::api
