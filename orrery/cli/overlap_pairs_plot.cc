#include "orrery/cli/overlap_pairs_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/cli/evaluate/error_spread.h"
#include "orrery/cli/plot_page.h"
#include "orrery/draw/chart/scatter_chart.h"
#include "orrery/draw/chart/spread_chart.h"

namespace orrery::cli {
namespace {

using overlap::EvaluatedPair;

constexpr std::string_view kTitle = "Kernels beside communication: predicted over measured";
// A prediction off by more is drawn at the edge: the picture is about the many.
constexpr double kLargestRatio = 4;
constexpr std::size_t kFewestRows = 20;

constexpr std::array<PlotLook, 2> kLooks = {
    {{"communication all the while", "compute"}, {"one arrives while the other runs", "memory"}}};

std::size_t SeriesOf(const EvaluatedPair& row) {
  return row.row->mode == overlap::Mode::kSteady ? 0 : 1;
}

double Ratio(const EvaluatedPair& row) {
  return row.predicted_us / row.row->together_us;
}

draw::ScatterChart RatioChart(const std::vector<EvaluatedPair>& rows) {
  draw::ScatterChart chart{.lines = {{"10 % too long", 1.1}, {"10 % too short", 0.9}},
                           .x_quantity = draw::Quantity::kNanoseconds,
                           .x_title = "measured duration beside communication",
                           .y_title = "predicted / measured",
                           .description = "Predicted over measured duration of each pair"};
  for (const PlotLook& look : kLooks) {
    chart.series.push_back({std::string(look.name), std::string(look.style)});
  }
  for (const EvaluatedPair& row : rows) {
    chart.points.push_back({.x = row.row->together_us * 1e3,
                            .y = std::clamp(Ratio(row), 1 / kLargestRatio, kLargestRatio),
                            .series = SeriesOf(row)});
  }
  return chart;
}

draw::SpreadChart ErrorChart(const std::vector<EvaluatedPair>& rows) {
  std::map<std::string, std::vector<double>> errors_of_kind;
  for (const EvaluatedPair& row : rows) {
    errors_of_kind[std::string(row.row->pair.compute.kind)].push_back(100 *
                                                                      std::abs(Ratio(row) - 1));
  }
  draw::SpreadChart chart{.rows = {},
                          .quantity = draw::Quantity::kPercent,
                          .description = "Errors of the duration by kind of kernel"};
  for (const auto& [kind, errors] : errors_of_kind) {
    if (errors.size() >= kFewestRows) {
      chart.rows.push_back(ErrorSpread({kind, "compute"}, errors));
    }
  }
  return chart;
}

}  // namespace

Status WriteOverlapPlot(const overlap::OverlapEvaluation& evaluation, const std::string& path) {
  const learn::Evaluation& figures = evaluation.predictors.front().duration;
  const std::string sentence =
      fmt::format("{} pairs: mean error {:.1f} %, {:.0f} % of them within 10 %", figures.rows,
                  figures.mape, figures.within_10);
  std::vector<PlotPart> parts = {PlotHead(kTitle, sentence, kLooks),
                                 PlotPartOf(draw::RenderScatter(RatioChart(evaluation.rows)))};
  const draw::SpreadChart errors = ErrorChart(evaluation.rows);
  if (!errors.rows.empty()) {
    parts.push_back(PlotCaption("|error| of the duration by kind of kernel, %"));
    parts.push_back(PlotPartOf(draw::RenderSpreadChart(errors)));
  }
  return WritePlot(PlotDocument(kTitle, parts), path);
}

}  // namespace orrery::cli
