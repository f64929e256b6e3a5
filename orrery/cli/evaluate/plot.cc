#include "orrery/cli/evaluate/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/cli/evaluate/error_spread.h"
#include "orrery/cli/plot_page.h"
#include "orrery/draw/chart/scatter_chart.h"
#include "orrery/draw/chart/spread_chart.h"
#include "orrery/kernel/work.h"

namespace orrery::cli {
namespace {

constexpr std::string_view kTitle = "Predicted against measured times of operators";
// A prediction off by more is drawn at the edge: the picture is about the many.
constexpr double kLargestRatio = 10;
constexpr double kShortestAxisPercent = 20;

constexpr std::array<PlotLook, 2> kLooks = {
    {{"matrix products", "compute"}, {"all other operators", "memory"}}};

std::size_t SeriesOf(kernel::OperatorKind kind) {
  return kernel::IsGemm(kind) ? 0 : 1;
}

double Ratio(const kernel::EvaluatedRow& row) {
  return row.predicted.seconds / row.measured.seconds;
}

std::vector<draw::Series> AllSeries() {
  std::vector<draw::Series> series;
  for (const PlotLook& look : kLooks) {
    series.push_back({std::string(look.name), std::string(look.style)});
  }
  return series;
}

draw::ScatterChart RatioChart(const std::vector<kernel::EvaluatedRow>& rows) {
  draw::ScatterChart chart{.series = AllSeries(),
                           .lines = {{"10 % too long", 1.1}, {"10 % too short", 0.9}},
                           .x_quantity = draw::Quantity::kNanoseconds,
                           .x_title = "measured time",
                           .y_title = "predicted / measured",
                           .description = "Predicted over measured time of each operator"};
  for (const kernel::EvaluatedRow& row : rows) {
    chart.points.push_back({.x = row.measured.seconds * 1e9,
                            .y = std::clamp(Ratio(row), 1 / kLargestRatio, kLargestRatio),
                            .series = SeriesOf(row.measured.op.kind())});
  }
  return chart;
}

draw::Spread SpreadOf(kernel::OperatorKind kind, std::vector<double> errors) {
  return ErrorSpread(
      {std::string(kernel::SchemaOf(kind).name), std::string(kLooks[SeriesOf(kind)].style)},
      std::move(errors));
}

// One operator with wild errors must not make a stub of all others; its note says how long it is.
void CutLongLines(draw::SpreadChart& chart) {
  double limit = kShortestAxisPercent;
  for (const draw::Spread& row : chart.rows) {
    limit = std::max(limit, 1.5 * row.upper_quartile);
  }
  for (draw::Spread& row : chart.rows) {
    row.largest = std::min(row.largest, limit);
  }
}

draw::SpreadChart ErrorChart(const std::vector<kernel::EvaluatedRow>& rows) {
  std::map<kernel::OperatorKind, std::vector<double>> errors;
  for (const kernel::EvaluatedRow& row : rows) {
    errors[row.measured.op.kind()].push_back(100 * std::abs(Ratio(row) - 1));
  }
  draw::SpreadChart chart{.rows = {},
                          .quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each operator are spread"};
  for (auto& [kind, values] : errors) {
    chart.rows.push_back(SpreadOf(kind, std::move(values)));
  }
  CutLongLines(chart);
  return chart;
}

PlotPart Head(const KernelEvaluationResult& evaluation, const learn::Evaluation& figures) {
  return PlotHead(
      kTitle,
      fmt::format("Evaluated: {}. {} rows: MAPE {:.2f} %, GMAE {:.2f} %, median {:.1f} %",
                  evaluation.split, figures.rows, figures.mape, figures.gmae, figures.median),
      kLooks);
}

}  // namespace

std::string EvaluationPlot(const KernelEvaluationResult& evaluation) {
  const learn::Evaluation overall = kernel::Summarize(evaluation.rows).overall;
  return PlotDocument(
      kTitle,
      {Head(evaluation, overall), PlotPartOf(draw::RenderScatter(RatioChart(evaluation.rows))),
       PlotCaption("|error| by operator: the bar ends at the median, the thick line holds "
                   "half of the rows, the thin one nine of ten"),
       PlotPartOf(draw::RenderSpreadChart(ErrorChart(evaluation.rows)))});
}

Status WriteEvaluationPlot(const KernelEvaluationResult& evaluation, const std::string& path) {
  return WritePlot(EvaluationPlot(evaluation), path);
}

}  // namespace orrery::cli
