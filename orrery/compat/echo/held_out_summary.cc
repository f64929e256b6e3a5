#include "orrery/compat/echo/held_out_summary.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "orrery/base/statistics.h"
#include "orrery/learn/metrics.h"
#include "orrery/learn/random.h"
#include "orrery/compat/echo/schedule.h"

namespace orrery::compat::echo {
namespace {

constexpr std::size_t kDraws = 10'000;
constexpr std::uint64_t kSeed = 20'241;
constexpr std::string_view kReference = "per-name median";

/// Positions in CrossValidation::rows.
std::vector<std::size_t> Overlapped(std::span<const EchoRow> rows,
                                    const CrossValidation& validation) {
  std::vector<std::size_t> positions;
  for (std::size_t position = 0; position < validation.rows.size(); ++position) {
    if (rows[validation.rows[position]].IsOverlapped()) {
      positions.push_back(position);
    }
  }
  return positions;
}

std::vector<double> Pick(std::span<const double> values, std::span<const std::size_t> positions) {
  std::vector<double> picked;
  for (const std::size_t position : positions) {
    picked.push_back(values[position]);
  }
  return picked;
}

/// |error| of each row in percent, mean over the repeats.
std::vector<double> RowErrors(const HeldOutPredictions& predictions,
                              std::span<const double> measured) {
  std::vector<double> errors(measured.size(), 0.0);
  for (const std::vector<double>& repeat : predictions.durations_ns) {
    for (std::size_t row = 0; row < measured.size(); ++row) {
      errors[row] += std::abs(repeat[row] / measured[row] - 1) * 100;
    }
  }
  for (double& error : errors) {
    error /= static_cast<double>(predictions.durations_ns.size());
  }
  return errors;
}

/// The sum of differences in a slowdown, and its rows.
struct SlowdownSum {
  double sum = 0;
  double rows = 0;
};

double DrawMean(std::span<const SlowdownSum> slowdowns, learn::Random& random) {
  SlowdownSum drawn;
  for (std::size_t i = 0; i < slowdowns.size(); ++i) {
    const SlowdownSum& slowdown = slowdowns[random.Below(slowdowns.size())];
    drawn.sum += slowdown.sum;
    drawn.rows += slowdown.rows;
  }
  return drawn.sum / drawn.rows;
}

Difference DifferenceOf(std::span<const double> differences,
                        std::span<const std::uint32_t> slowdown_of) {
  std::map<std::uint32_t, SlowdownSum> by_slowdown;
  for (std::size_t row = 0; row < differences.size(); ++row) {
    by_slowdown[slowdown_of[row]].sum += differences[row];
    by_slowdown[slowdown_of[row]].rows += 1;
  }
  std::vector<SlowdownSum> slowdowns;
  for (const auto& [slowdown, sum] : by_slowdown) {
    slowdowns.push_back(sum);
  }
  learn::Random random(kSeed);
  std::vector<double> means(kDraws);
  for (double& mean : means) {
    mean = DrawMean(slowdowns, random);
  }
  return {.mean = Mean(differences),
          .low = Quantile(means, 0.025),
          .high = Quantile(means, 0.975),
          .low_99 = Quantile(means, 0.005),
          .high_99 = Quantile(means, 0.995)};
}

/// Means over repeats of what learn::Evaluate says.
class Averages {
 public:
  void Add(const learn::Evaluation& overlapped, const learn::Evaluation& all) {
    sums_.mape += overlapped.mape;
    sums_.within_5 += overlapped.within_5;
    sums_.within_10 += overlapped.within_10;
    sums_.within_15 += overlapped.within_15;
    sums_.r2_of_logs += overlapped.r2_of_logs;
    sums_.mape_all += all.mape;
    sums_.total += all.error_of_sum;
    sums_.total_overlapped += overlapped.error_of_sum;
    ++count_;
  }

  [[nodiscard]] PredictorSummary Get() const {
    PredictorSummary means = sums_;
    for (double* const figure :
         {&means.mape, &means.within_5, &means.within_10, &means.within_15, &means.r2_of_logs,
          &means.mape_all, &means.total, &means.total_overlapped}) {
      *figure /= count_;
    }
    return means;
  }

 private:
  PredictorSummary sums_;
  double count_ = 0;
};

}  // namespace

std::vector<PredictorSummary> Summarise(std::span<const EchoRow> rows,
                                        const CrossValidation& validation) {
  const std::vector<Place> places = PlacesOf(rows);
  const std::vector<std::size_t> overlapped = Overlapped(rows, validation);
  std::vector<double> measured;
  for (const std::uint32_t row : validation.rows) {
    measured.push_back(rows[row].together_ns);
  }
  std::vector<std::uint32_t> slowdown_of;
  for (const std::size_t position : overlapped) {
    slowdown_of.push_back(places[validation.rows[position]].slowdown);
  }
  const std::vector<double> measured_overlapped = Pick(measured, overlapped);
  std::vector<PredictorSummary> summaries;
  std::vector<std::vector<double>> errors;
  std::size_t reference = 0;
  for (const HeldOutPredictions& predictions : validation.predictors) {
    Averages averages;
    for (const std::vector<double>& repeat : predictions.durations_ns) {
      averages.Add(learn::Evaluate(Pick(repeat, overlapped), measured_overlapped),
                   learn::Evaluate(repeat, measured));
    }
    reference = predictions.predictor == kReference ? summaries.size() : reference;
    summaries.push_back(averages.Get());
    summaries.back().predictor = predictions.predictor;
    errors.push_back(Pick(RowErrors(predictions, measured), overlapped));
  }
  for (std::size_t predictor = 0; predictor < summaries.size(); ++predictor) {
    std::vector<double> differences = errors[predictor];
    for (std::size_t row = 0; row < differences.size(); ++row) {
      differences[row] -= errors[reference][row];
    }
    summaries[predictor].from_median = DifferenceOf(differences, slowdown_of);
  }
  return summaries;
}

}  // namespace orrery::compat::echo
