#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/round_up.h"
#include "orrery/base/math/statistics.h"
#include "orrery/learn/interval.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"

namespace orrery::simulate {
namespace {

constexpr double kPsOfSecond = 1e12;

}  // namespace

std::vector<GoodputMonth> SimulateMonths(const GoodputJob& job, const JobFailures& failures,
                                         const GoodputOptions& options, std::size_t count,
                                         int threads) {
  ORRERY_CHECK(job.step_ps > 0 && options.window_ps > 0, "no step or no window");
  std::vector<GoodputMonth> months(count);
  ParallelFor(count, threads, [&](std::size_t month) {
    months[month] = SimulateMonth(job, failures, options, month);
  });
  return months;
}

double GoodputSummary::num_failures() const {
  double sum = 0;
  for (const double count : failures) {
    sum += count;
  }
  return sum;
}

std::vector<double> EttrOf(std::span<const GoodputMonth> months, std::int64_t window_ps) {
  std::vector<double> ettr;
  ettr.reserve(months.size());
  for (const GoodputMonth& month : months) {
    ettr.push_back(static_cast<double>(month.productive_ps) / static_cast<double>(window_ps));
  }
  return ettr;
}

GoodputSummary Summarize(std::span<const GoodputMonth> months, std::int64_t window_ps) {
  const std::vector<double> ettr = EttrOf(months, window_ps);
  const auto mean = [&](const auto& value) {
    std::vector<double> values;
    values.reserve(months.size());
    for (const GoodputMonth& month : months) {
      values.push_back(static_cast<double>(value(month)));
    }
    return Mean(values);
  };
  GoodputSummary summary{.ettr_mean = Mean(ettr),
                         .ettr_p10 = Quantile(ettr, 0.1),
                         .ettr_p50 = Quantile(ettr, 0.5),
                         .ettr_p90 = Quantile(ettr, 0.9)};
  summary.steps = mean([](const GoodputMonth& month) { return month.steps; });
  summary.productive_s =
      mean([](const GoodputMonth& month) { return month.productive_ps; }) / kPsOfSecond;
  for (std::size_t i = 0; i < summary.lost_s.size(); ++i) {
    summary.lost_s[i] =
        mean([i](const GoodputMonth& month) { return month.lost_ps[i]; }) / kPsOfSecond;
  }
  for (std::size_t i = 0; i < summary.failures.size(); ++i) {
    summary.failures[i] = mean([i](const GoodputMonth& month) { return month.failures[i]; });
  }
  summary.checkpoints = mean([](const GoodputMonth& month) { return month.checkpoints; });
  summary.planned_stops = mean([](const GoodputMonth& month) { return month.planned_stops; });
  return summary;
}

std::int64_t IntervalSteps(double interval_s, std::int64_t step_ps,
                           const CheckpointTimes& checkpoint, std::int64_t window_ps) {
  const std::int64_t least = DivideUp(checkpoint.stall_ps + checkpoint.write_ps, step_ps);
  const std::int64_t most = std::max<std::int64_t>(1, window_ps / step_ps);
  const double steps = std::round(interval_s * kPsOfSecond / static_cast<double>(step_ps));
  const auto wanted = static_cast<std::int64_t>(std::min(steps, static_cast<double>(most)));
  return std::max({std::int64_t{1}, least, wanted});
}

std::vector<std::int64_t> SparesToTry(const JobFailures& failures, const GoodputOptions& options) {
  double nodes_per_s = options.slow.per_s;
  for (const JobFailureCause& cause : failures.causes) {
    nodes_per_s += cause.per_s * cause.nodes_lost;
  }
  if (failures.is_log) {
    for (const LoggedFailure& logged : failures.log) {
      nodes_per_s += failures.causes[logged.cause].nodes_lost * kPsOfSecond /
                     static_cast<double>(options.window_ps);
    }
  }
  const double in_repair = nodes_per_s * static_cast<double>(options.repair_ps) / kPsOfSecond;
  std::vector<std::int64_t> spares{0, 1, 2, 3};
  for (std::int64_t power = 4; static_cast<double>(spares.back()) < 3 * in_repair + 4; power *= 2) {
    spares.push_back(power);
    spares.push_back(power + power / 2);
  }
  return spares;
}

WindowFactors FactorsOf(const GoodputSummary& summary,
                        const std::optional<learn::TimeInterval>& step) {
  if (summary.ettr_p10 <= 0) {
    return {.low = 0, .high = summary.ettr_mean > 0 ? summary.ettr_p90 / summary.ettr_mean : 1};
  }
  // A longer step means fewer of them.
  const double fewer = std::hypot(std::log(summary.ettr_mean / summary.ettr_p10),
                                  step ? std::log(std::max(1.0, step->high_s)) : 0);
  const double more = std::hypot(std::log(summary.ettr_p90 / summary.ettr_mean),
                                 step ? std::log(std::min(1.0, step->low_s)) : 0);
  return {.low = std::exp(-fewer), .high = std::exp(more)};
}

}  // namespace orrery::simulate
