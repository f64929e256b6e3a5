#include "orrery/simulate/goodput/goodput_study.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"

namespace orrery::simulate {
namespace {

constexpr std::size_t kMostRunsOfVariant = 200;

double Seconds(std::int64_t ps) {
  return static_cast<double>(ps) * 1e-12;
}

RenewalModel ModelOf(const GoodputRequest& request) {
  const GoodputOptions& options = request.options;
  const JobFailures& failures = request.failures;
  const double logged = static_cast<double>(failures.log.size()) / Seconds(options.window_ps);
  return {.failures_per_s = failures.is_log ? logged : failures.per_s(),
          .stall_s = Seconds(options.checkpoint.stall_ps),
          .write_s = Seconds(options.checkpoint.write_ps),
          .down_s = Seconds(options.detect_ps) + Seconds(options.restart_ps) +
                    Seconds(options.checkpoint.load_ps)};
}

std::optional<double> ExpectedOf(const GoodputRequest& request, const RenewalModel& model,
                                 std::int64_t interval_steps) {
  if (interval_steps == 0) {
    return std::nullopt;
  }
  return ExpectedEttr(model, static_cast<double>(interval_steps) * Seconds(request.job.step_ps));
}

GoodputVariant Simulated(const GoodputRequest& request, const RenewalModel& model,
                         const GoodputOptions& options) {
  const std::size_t runs = std::min(request.runs, kMostRunsOfVariant);
  return {options.interval_steps, options.spares,
          Summarize(SimulateMonths(request.job, request.failures, options, runs, request.threads),
                    options.window_ps),
          ExpectedOf(request, model, options.interval_steps)};
}

std::vector<GoodputVariant> TryIntervals(const GoodputRequest& request, const GoodputStudy& study) {
  std::vector<GoodputVariant> variants;
  const std::int64_t chosen = study.options.interval_steps;
  for (const double factor : {0.25, 0.5, 1.0, 2.0, 4.0}) {
    GoodputOptions options = study.options;
    const double interval_s = factor * static_cast<double>(chosen) * Seconds(request.job.step_ps);
    options.interval_steps =
        IntervalSteps(interval_s, request.job.step_ps, options.checkpoint, options.window_ps);
    if (variants.empty() || variants.back().interval_steps < options.interval_steps) {
      variants.push_back(Simulated(request, study.model, options));
    }
  }
  return variants;
}

std::vector<GoodputVariant> TrySpares(const GoodputRequest& request, const GoodputStudy& study) {
  std::vector<std::int64_t> numbers = SparesToTry(request.failures, study.options);
  if (!request.chooses_spares && !std::ranges::binary_search(numbers, study.options.spares)) {
    numbers.push_back(study.options.spares);
    std::ranges::sort(numbers);
  }
  std::vector<GoodputVariant> variants;
  for (const std::int64_t number : numbers) {
    GoodputOptions options = study.options;
    options.spares = number;
    variants.push_back(Simulated(request, study.model, options));
  }
  return variants;
}

}  // namespace

double GoodputVariant::PaidShare(std::int64_t nodes) const {
  return summary.ettr_mean * static_cast<double>(nodes) / static_cast<double>(nodes + spares);
}

GoodputStudy StudyGoodput(const GoodputRequest& request) {
  GoodputStudy study{.options = request.options, .model = ModelOf(request)};
  const bool has_stall = study.model.stall_s + study.model.write_s > 0;
  if (study.model.failures_per_s > 0 && has_stall) {
    study.best_s = BestIntervalSeconds(study.model);
  }
  if (request.chooses_interval) {
    study.options.interval_steps =
        study.model.failures_per_s > 0
            ? IntervalSteps(study.best_s.value_or(0), request.job.step_ps, study.options.checkpoint,
                            study.options.window_ps)
            : 0;
  }
  study.spares = TrySpares(request, study);
  if (request.chooses_spares) {
    const auto paid = [&](const GoodputVariant& variant) {
      return variant.PaidShare(request.job.nodes);
    };
    study.options.spares = std::ranges::max_element(study.spares, {}, paid)->spares;
  }
  if (study.options.interval_steps > 0) {
    study.intervals = TryIntervals(request, study);
  }
  study.months =
      SimulateMonths(request.job, request.failures, study.options, request.runs, request.threads);
  study.chosen = {study.options.interval_steps, study.options.spares,
                  Summarize(study.months, study.options.window_ps),
                  ExpectedOf(request, study.model, study.options.interval_steps)};
  return study;
}

}  // namespace orrery::simulate
