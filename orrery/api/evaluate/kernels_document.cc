#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/evaluate/kernels.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/text/table.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/learn/metrics.h"

namespace orrery::api {
namespace {

// A prediction off by more is drawn at the edge: the picture is about the many.
constexpr double kLargestRatio = 10;
constexpr double kShortestAxisPercent = 20;

const std::vector<draw::Series>& AllSeries() {
  static const std::vector<draw::Series> kSeries = {
      {.name = "matrix multiplications", .style = "compute"},
      {.name = "all other operators", .style = "memory"}};
  return kSeries;
}

std::size_t SeriesOf(kernel::OperatorKind kind) {
  return kernel::IsGemm(kind) ? 0 : 1;
}

double Ratio(const calibrate::EvaluatedOperator& row) {
  return row.predicted.seconds / row.measured.seconds;
}

draw::ScatterChart RatioChart(const std::vector<calibrate::EvaluatedOperator>& rows) {
  draw::ScatterChart chart{.series = AllSeries(),
                           .lines = {{"10 % too long", 1.1}, {"10 % too short", 0.9}},
                           .x_quantity = draw::Quantity::kNanoseconds,
                           .x_title = "measured time",
                           .y_title = "predicted / measured",
                           .description = "Predicted over measured time of each operator"};
  for (const calibrate::EvaluatedOperator& row : rows) {
    chart.points.push_back({.x = row.measured.seconds * 1e9,
                            .y = std::clamp(Ratio(row), 1 / kLargestRatio, kLargestRatio),
                            .series = SeriesOf(row.measured.op.kind())});
  }
  return chart;
}

draw::Spread SpreadOf(kernel::OperatorKind kind, std::vector<double> errors) {
  return ErrorSpread({std::string(kernel::SchemaOf(kind).name), AllSeries()[SeriesOf(kind)].style},
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

draw::SpreadChart ErrorChart(const std::vector<calibrate::EvaluatedOperator>& rows) {
  std::map<kernel::OperatorKind, std::vector<double>> errors;
  for (const calibrate::EvaluatedOperator& row : rows) {
    errors[row.measured.op.kind()].push_back(100 * std::abs(Ratio(row) - 1));
  }
  draw::SpreadChart chart{.quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each operator are spread"};
  for (auto& [kind, values] : errors) {
    chart.rows.push_back(SpreadOf(kind, std::move(values)));
  }
  CutLongLines(chart);
  return chart;
}

// Draws predicted over measured times of all rows, and how the errors of each operator are spread.
std::vector<Document::Picture> PicturesOf(const EvaluatedKernels& evaluated,
                                          const learn::Evaluation& overall) {
  const draw::ScatterChart ratios = RatioChart(evaluated.rows);
  return {{.heading = "Predicted against measured times of operators",
           .svg = draw::RenderScatter(ratios),
           .caption = fmt::format(
               "Evaluated: {}. {} rows: MAPE {:.2f} %, GMAE {:.2f} %, median {:.1f} %",
               evaluated.split, overall.rows, overall.mape, overall.gmae, overall.median),
           .legend = draw::ScatterLegend(ratios)},
          {.heading = "Errors by operator",
           .svg = draw::RenderSpreadChart(ErrorChart(evaluated.rows)),
           .caption = std::string(kSpreadCaption)}};
}

std::string DistributionText(const learn::Evaluation& metrics) {
  std::string text = "Rows by |error|, %:";
  double begin = 0;
  for (std::size_t bin = 0; bin < metrics.histogram.size(); ++bin) {
    const bool is_last = bin == learn::kErrorBinEnds.size();
    if (metrics.histogram[bin] > 0) {
      text += is_last ? fmt::format("  >{:.0f}: {}", begin, metrics.histogram[bin])
                      : fmt::format("  {:.0f}-{:.0f}: {}", begin, learn::kErrorBinEnds[bin],
                                    metrics.histogram[bin]);
    }
    begin = is_last ? begin : learn::kErrorBinEnds[bin];
  }
  return text;
}

Document::Table WorstTable(std::span<const calibrate::EvaluatedOperator> worst) {
  Document::Table table{.heading = "Worst rows",
                        .columns = {AsText("", "operator", 90), AsText("GPU"),
                                    Formatted("measured us", NumberFormat("{:.2f}", 1e6)),
                                    Formatted("predicted us", NumberFormat("{:.2f}", 1e6)),
                                    Formatted("error %", NumberFormat("{:+.0f}", 100))}};
  for (const calibrate::EvaluatedOperator& row : worst) {
    table.rows.push_back({kernel::Text(row.measured.op), row.measured.gpu->name,
                          row.measured.seconds, row.predicted.seconds,
                          row.predicted.seconds / row.measured.seconds - 1});
  }
  return table;
}

Document::Table GroupTable(const EvaluatedKernels& evaluated, const learn::Evaluation& overall) {
  Document::Table table{.columns = MetricColumns({"operator", "GPU", "type", "timing"}),
                        .total = MetricCells({"all", "", "", ""}, overall),
                        .max_shown = SIZE_MAX};
  for (const calibrate::OperatorGroup& group :
       calibrate::GroupsOf(evaluated.rows, calibrate::GroupBy::kOperatorGpuType)) {
    table.rows.push_back(MetricCells({group.operator_name, group.gpu, group.type,
                                      kernel::TimingText(group.timing, group.is_sustained)},
                                     group.figures));
  }
  return table;
}

Table PredictionTable(std::span<const calibrate::EvaluatedOperator> rows) {
  constexpr Table::Type kText = Table::Type::kText;
  constexpr Table::Type kNumber = Table::Type::kNumber;
  Table table({{"operator", kText},
               {"gpu", kText},
               {"timing", kText},
               {"measured_us", kNumber},
               {"predicted_us", kNumber},
               {"uncertainty", kNumber},
               {"extrapolated", Table::Type::kInteger}});
  for (const calibrate::EvaluatedOperator& row : rows) {
    table.AddRow({kernel::Text(row.measured.op), row.measured.gpu->name,
                  kernel::TimingText(row.measured.timing, row.measured.is_sustained),
                  row.measured.seconds * 1e6, row.predicted.seconds * 1e6,
                  row.predicted.uncertainty, std::int64_t{row.predicted.is_extrapolated}});
  }
  return table;
}

}  // namespace

Document DocumentOf(const EvaluatedKernels& evaluated) {
  const calibrate::KernelEvaluation summary = calibrate::Summarize(evaluated.rows);
  Document document{.title = fmt::format("Evaluated: {}; errors in %", evaluated.split),
                    .kind = "Orrery evaluation"};
  Document::Section& section = document.AddSection();
  section.Add(GroupTable(evaluated, summary.overall));
  section.Say(DistributionText(summary.overall));
  section.Add(WorstTable(summary.worst));
  section.Add(NotUsedList(evaluated.data.files, evaluated.data.rejected));
  std::ranges::move(PicturesOf(evaluated, summary.overall), std::back_inserter(section.blocks));
  document.sheets.emplace_back("predictions", PredictionTable(evaluated.rows));
  return document;
}

}  // namespace orrery::api
