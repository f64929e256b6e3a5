#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/evaluate/pairs.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/text/table.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/learn/metrics.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::api {
namespace {

using calibrate::OverlapEvaluation;

using calibrate::EvaluatedPair;

// A prediction off by more is drawn at the edge: the picture is about the many.
constexpr double kLargestRatio = 4;
constexpr std::size_t kFewestRows = 20;

double Ratio(const EvaluatedPair& row) {
  return row.predicted_us / row.row->together_us;
}

draw::ScatterChart RatioChart(const std::vector<EvaluatedPair>& rows) {
  draw::ScatterChart chart{.series = {{"communication all the while", "compute"},
                                      {"one arrives while the other runs", "memory"}},
                           .lines = {{"10 % too long", 1.1}, {"10 % too short", 0.9}},
                           .x_quantity = draw::Quantity::kNanoseconds,
                           .x_title = "measured duration during communication",
                           .y_title = "predicted / measured",
                           .description = "Predicted over measured duration of each pair"};
  for (const EvaluatedPair& row : rows) {
    chart.points.push_back({.x = row.row->together_us * 1e3,
                            .y = std::clamp(Ratio(row), 1 / kLargestRatio, kLargestRatio),
                            .series = row.row->mode == overlap::Mode::kSteady ? 0U : 1U});
  }
  return chart;
}

draw::SpreadChart ErrorChart(const std::vector<EvaluatedPair>& rows) {
  std::map<std::string, std::vector<double>> errors_of_kind;
  for (const EvaluatedPair& row : rows) {
    errors_of_kind[std::string(row.row->pair.compute.kind)].push_back(100 *
                                                                      std::abs(Ratio(row) - 1));
  }
  draw::SpreadChart chart{.quantity = draw::Quantity::kPercent,
                          .description = "Errors of the duration by kind of kernel"};
  for (const auto& [kind, errors] : errors_of_kind) {
    if (errors.size() >= kFewestRows) {
      chart.rows.push_back(ErrorSpread({kind, "compute"}, errors));
    }
  }
  return chart;
}

std::vector<Document::Picture> OverlapPictures(const calibrate::OverlapEvaluation& evaluation) {
  const learn::Evaluation& metrics = evaluation.predictors.front().duration;
  const draw::ScatterChart ratios = RatioChart(evaluation.rows);
  std::vector<Document::Picture> pictures = {
      {.heading = "Kernels concurrent with communication: predicted over measured",
       .svg = draw::RenderScatter(ratios),
       .caption = fmt::format("{} pairs: mean error {:.1f} %, {:.0f} % of them within 10 %",
                              metrics.rows, metrics.mape, metrics.within_10),
       .legend = draw::ScatterLegend(ratios)}};
  const draw::SpreadChart errors = ErrorChart(evaluation.rows);
  if (!errors.rows.empty()) {
    pictures.push_back({.heading = "Errors of the duration by kind of kernel",
                        .svg = draw::RenderSpreadChart(errors),
                        .caption = std::string(kSpreadCaption)});
  }
  return pictures;
}

Document::Table PredictorTable(const OverlapEvaluation& evaluation) {
  Document::Table table{.columns = {AsText("predictor"), AsNumber("rows"),
                                    Formatted("MAPE", NumberFormat("{:.2f}")),
                                    Formatted("median", NumberFormat("{:.2f}")),
                                    Formatted("within 5 %", NumberFormat("{:.1f}")),
                                    Formatted("10 %", NumberFormat("{:.1f}")),
                                    Formatted("15 %", NumberFormat("{:.1f}")),
                                    Formatted("R2", NumberFormat("{:.4f}")),
                                    Formatted("R2 of the slowdown", NumberFormat("{:.3f}")),
                                    Formatted("total", NumberFormat("{:+.2f} %"))}};
  std::vector<calibrate::PredictorEvaluation> lines = evaluation.predictors;
  lines.insert(lines.begin() + 1, evaluation.as_planned);
  for (const calibrate::PredictorEvaluation& line : lines) {
    const learn::Evaluation& metrics = line.duration;
    table.rows.push_back({line.name, metrics.rows, metrics.mape, metrics.median, metrics.within_5,
                          metrics.within_10, metrics.within_15, metrics.r2_of_logs,
                          line.r2_of_slowdown, metrics.error_of_sum});
  }
  return table;
}

void AddSummary(const OverlapEvaluation& evaluation, Document::Section& section) {
  const calibrate::DelayEvaluation& delays = evaluation.delays;
  if (evaluation.communication.rows > 0) {
    section.Say(fmt::format(
        "Communication concurrent with kernels: MAPE {:.2f} %, {:.1f} % within 10 % ({} rows)",
        evaluation.communication.mape, evaluation.communication.within_10,
        evaluation.communication.rows));
  }
  section.Say(
      delays.waited == 0
          ? fmt::format("Waiting for room: no row waits above {} us", calibrate::kLeastDelayUs)
          : fmt::format("Waiting for room: median error {:.1f} % of {} waits above {} us; "
                        "\"it waits\" is right in {:.0f} % and finds {:.0f} %",
                        delays.median_error, delays.waited, calibrate::kLeastDelayUs,
                        delays.precision, delays.recall));
  section.Say(fmt::format("Repeats alone differ by {:.2f} % (median between quartiles)",
                          evaluation.noise_floor));
}

void AddGroups(const OverlapEvaluation& evaluation, Document::Section& section) {
  Document::Table table{.columns = MetricColumns({"by", ""}), .max_shown = SIZE_MAX};
  for (const calibrate::PairGroup& group : evaluation.groups) {
    table.rows.push_back(MetricCells({group.what, group.name}, group.duration));
  }
  section.Add(std::move(table));
}

void AddImportance(const OverlapEvaluation& evaluation, Document& document) {
  Document::Section& section = document.AddSection(
      "Increase of the slowdown's MAPE, in points, without a group of features");
  for (const learn::GroupImportance& group : evaluation.importance) {
    section.Show(group.name, fmt::format("{:+.2f} ± {:.2f}", group.mean_increase, group.spread));
  }
}

Table PredictionsOf(const OverlapEvaluation& evaluation, const overlap::PairTable& data) {
  constexpr Table::Type kText = Table::Type::kText;
  constexpr Table::Type kInteger = Table::Type::kInteger;
  constexpr Table::Type kNumber = Table::Type::kNumber;
  Table table({{"file", kText},
               {"line", kInteger},
               {"kernel", kText},
               {"mode", kText},
               {"blocks", kInteger},
               {"alone_us", kNumber},
               {"measured_us", kNumber},
               {"predicted_us", kNumber}});
  for (const EvaluatedPair& evaluated : evaluation.rows) {
    const overlap::MeasuredPair& row = *evaluated.row;
    table.AddRow({data.files[row.file], static_cast<std::int64_t>(row.line), row.kernel,
                  std::string(row.mode == overlap::Mode::kSteady ? "steady" : "arrival"),
                  row.pair.communication.shape.blocks, row.pair.compute.alone_us, row.together_us,
                  evaluated.predicted_us});
  }
  return table;
}

}  // namespace

Document DocumentOf(const EvaluatedPairs& evaluated, const overlap::PairTable& data) {
  const OverlapEvaluation& evaluation = evaluated.evaluation;
  Document document{
      .title = fmt::format("Evaluated: {}; the kernel's duration during communication, errors in %",
                           evaluated.rows),
      .kind = "Orrery evaluation"};
  Document::Section& section = document.AddSection();
  section.Add(PredictorTable(evaluation));
  AddSummary(evaluation, section);
  AddGroups(evaluation, section);
  AddImportance(evaluation, document);
  std::ranges::move(OverlapPictures(evaluation), std::back_inserter(document.AddSection().blocks));
  document.sheets.emplace_back("predictions", PredictionsOf(evaluation, data));
  return document;
}

}  // namespace orrery::api
