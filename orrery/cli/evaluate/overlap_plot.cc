#include "orrery/cli/evaluate/overlap_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/statistics.h"
#include "orrery/cli/plot_page.h"
#include "orrery/draw/chart/spread_chart.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kTitle = "Kernels beside communication: predicted durations";
constexpr std::array<PlotLook, 2> kLooks = {{{"ours", "compute"}, {"others", "memory"}}};
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
  return {.series = {name, std::string(kLooks[is_ours ? 0 : 1].style)},
          .smallest = Quantile(errors, 0.05),
          .lower_quartile = Quantile(errors, 0.25),
          .median = Median(errors),
          .upper_quartile = Quantile(errors, 0.75),
          .largest = std::min(p95, kLongestPercent),
          .note = fmt::format("mean {:.1f} %, 95 % below {:.1f} %", Mean(errors), p95)};
}

}  // namespace

Status WriteEchoPlot(const EchoEvaluation& evaluation, const std::string& path) {
  draw::SpreadChart chart{.rows = {},
                          .quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each predictor are spread"};
  for (const HeldOutPredictions& predictions : evaluation.by_segment.validation.predictors) {
    chart.rows.push_back(SpreadOf(predictions.predictor, Errors(evaluation, predictions)));
  }
  return WritePlot(
      PlotDocument(kTitle, {PlotHead(kTitle,
                                     "Echo's public table, overlapped rows held out by "
                                     "segments of communication",
                                     kLooks),
                            PlotCaption("|error|: the bar ends at the median, the thick line holds "
                                        "half of the rows, the thin one nine of ten"),
                            PlotPartOf(draw::RenderSpreadChart(chart))}),
      path);
}

}  // namespace orrery::cli
