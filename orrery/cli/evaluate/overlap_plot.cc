#include "orrery/cli/evaluate/overlap_plot.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/statistics.h"
#include "orrery/cli/evaluate/error_spread.h"
#include "orrery/draw/chart/spread_chart.h"

namespace orrery::cli {
namespace {

// One predictor with wild errors must not make a stub of the others; its note says how long it is.
constexpr double kLongestPercent = 60;

using EchoEvaluation = compat::echo::Evaluation;
using compat::echo::HeldOutPredictions;

/// |error| in percent of overlapped rows, all repeats.
std::vector<double> Errors(const EchoEvaluation& evaluation,
                           const HeldOutPredictions& predictions) {
  const std::vector<std::uint32_t>& rows = evaluation.by_segment.validation.rows;
  std::vector<double> errors;
  for (const std::vector<double>& repeat : predictions.durations_ns) {
    for (std::size_t position = 0; position < rows.size(); ++position) {
      const auto& row = evaluation.rows[rows[position]];
      if (row.IsOverlapped()) {
        errors.push_back(100 * std::abs(repeat[position] / row.together_ns - 1));
      }
    }
  }
  return errors;
}

draw::Spread SpreadOf(const std::string& name, const std::vector<double>& errors) {
  const bool is_ours = name.starts_with("ours");
  const double p95 = Quantile(errors, 0.95);
  return {.series = {name, is_ours ? "compute" : "memory"},
          .smallest = Quantile(errors, 0.05),
          .lower_quartile = Quantile(errors, 0.25),
          .median = Median(errors),
          .upper_quartile = Quantile(errors, 0.75),
          .largest = std::min(p95, kLongestPercent),
          .note = fmt::format("mean {:.1f} %, 95 % below {:.1f} %", Mean(errors), p95)};
}

}  // namespace

report::Document::Picture EchoPicture(const EchoEvaluation& evaluation) {
  draw::SpreadChart chart{.rows = {},
                          .quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each predictor are spread"};
  for (const HeldOutPredictions& predictions : evaluation.by_segment.validation.predictors) {
    chart.rows.push_back(SpreadOf(predictions.predictor, Errors(evaluation, predictions)));
  }
  return {.heading = "Kernels concurrent with communication: predicted durations",
          .svg = draw::RenderSpreadChart(chart),
          .caption = fmt::format("Echo's public table, overlapped rows held out by slowdowns of "
                                 "communication. {}",
                                 kSpreadCaption),
          .legend = {{.name = "ours", .style = "compute"}, {.name = "others", .style = "memory"}}};
}

}  // namespace orrery::cli
