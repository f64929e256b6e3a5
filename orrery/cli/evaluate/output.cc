#include "orrery/cli/evaluate/output.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/cli/evaluate/error_spread.h"
#include "orrery/draw/chart/scatter_chart.h"
#include "orrery/draw/chart/spread_chart.h"
#include "orrery/kernel/work.h"
#include "orrery/report/document.h"

namespace orrery::cli {
namespace {

using report::Document;
using report::NumberFormat;
using report::Unit;

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

double Ratio(const kernel::EvaluatedRow& row) {
  return row.predicted.seconds / row.measured.seconds;
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

// Draws predicted over measured times of all rows, and how the errors of each operator are spread.
// There must be a row.
std::vector<report::Document::Picture> EvaluationPictures(
    const KernelEvaluationResult& evaluation) {
  const learn::Evaluation overall = kernel::Summarize(evaluation.rows).overall;
  const draw::ScatterChart ratios = RatioChart(evaluation.rows);
  return {{.heading = "Predicted against measured times of operators",
           .svg = draw::RenderScatter(ratios),
           .caption = fmt::format(
               "Evaluated: {}. {} rows: MAPE {:.2f} %, GMAE {:.2f} %, median {:.1f} %",
               evaluation.split, overall.rows, overall.mape, overall.gmae, overall.median),
           .legend = draw::ScatterLegend(ratios)},
          {.heading = "Errors by operator",
           .svg = draw::RenderSpreadChart(ErrorChart(evaluation.rows)),
           .caption = std::string(kSpreadCaption)}};
}

constexpr std::size_t kShownRejected = 10;

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

Document::Table WorstTable(std::span<const kernel::EvaluatedRow> worst) {
  Document::Table table{.key = "",
                        .heading = "Worst rows",
                        .columns = {{"", "operator", Unit::kText, 90},
                                    {"", "GPU"},
                                    {"", "measured us", NumberFormat("{:.2f}", 1e6)},
                                    {"", "predicted us", NumberFormat("{:.2f}", 1e6)},
                                    {"", "error %", NumberFormat("{:+.0f}", 100)}}};
  for (const kernel::EvaluatedRow& row : worst) {
    table.rows.push_back({kernel::Text(row.measured.op), row.measured.gpu->name,
                          row.measured.seconds, row.predicted.seconds,
                          row.predicted.seconds / row.measured.seconds - 1});
  }
  return table;
}

Document::Table GroupTable(const KernelEvaluationResult& result, const learn::Evaluation& overall) {
  Document::Table table{.key = "",
                        .heading = "",
                        .columns = MetricColumns({"operator", "GPU", "timing"}),
                        .total = MetricCells({"all", "", ""}, overall),
                        .max_shown = SIZE_MAX};
  for (const kernel::EvaluatedGroup& group :
       kernel::GroupsOf(result.rows, kernel::GroupBy::kOperatorGpu)) {
    table.rows.push_back(MetricCells(
        {group.operator_name, group.gpu, kernel::TimingName(group.timing)}, group.figures));
  }
  return table;
}

Value GroupData(const kernel::EvaluatedGroup& group) {
  Value data = Value::Object();
  data.Set("operator", group.operator_name)
      .Set("gpu", group.gpu)
      .Set("dtype", group.type)
      .Set("timing", kernel::TimingName(group.timing));
  SetMetrics(data, group.figures);
  return data;
}

Table PredictionTable(std::span<const kernel::EvaluatedRow> rows) {
  Table table;
  const std::size_t operator_column = table.AddColumn("operator", Table::Type::kText);
  const std::size_t gpu = table.AddColumn("gpu", Table::Type::kText);
  const std::size_t timing = table.AddColumn("timing", Table::Type::kText);
  const std::size_t measured = table.AddColumn("measured_us", Table::Type::kNumber);
  const std::size_t predicted = table.AddColumn("predicted_us", Table::Type::kNumber);
  const std::size_t uncertainty = table.AddColumn("uncertainty", Table::Type::kNumber);
  const std::size_t outside = table.AddColumn("extrapolated", Table::Type::kInteger);
  for (const kernel::EvaluatedRow& evaluated : rows) {
    const std::size_t row = table.AddRow();
    table.Set(row, operator_column, kernel::Text(evaluated.measured.op));
    table.Set(row, gpu, evaluated.measured.gpu->name);
    table.Set(row, timing, std::string(kernel::TimingName(evaluated.measured.timing)));
    table.Set(row, measured, evaluated.measured.seconds * 1e6);
    table.Set(row, predicted, evaluated.predicted.seconds * 1e6);
    table.Set(row, uncertainty, evaluated.predicted.uncertainty);
    table.Set(row, outside, std::int64_t{evaluated.predicted.is_extrapolated});
  }
  return table;
}

std::vector<std::string> RejectedLines(std::span<const std::string> files,
                                       std::span<const RejectedRow> rows) {
  std::vector<std::string> lines;
  for (const RejectedRow& row : rows.first(std::min(rows.size(), kShownRejected))) {
    const std::string line = row.line == 0 ? "" : fmt::format(":{}", row.line);
    lines.push_back(fmt::format("{}{}: {}", files[row.file], line, row.reason));
  }
  if (rows.size() > kShownRejected) {
    lines.push_back(fmt::format("… and {} more rows", rows.size() - kShownRejected));
  }
  return lines;
}

}  // namespace

std::vector<Document::Column> MetricColumns(const std::vector<std::string>& names) {
  std::vector<Document::Column> columns;
  for (const std::string& name : names) {
    columns.push_back({"", name, Unit::kText, 0});
  }
  for (const auto& [name, format] : {std::pair("rows", "{:.0f}"),
                                     {"MAPE", "{:.2f}"},
                                     {"GMAE", "{:.2f}"},
                                     {"median", "{:.1f}"},
                                     {"p95", "{:.1f}"},
                                     {"within 10 %", "{:.1f}"},
                                     {"bias", "{:+.1f}"},
                                     {"R2", "{:.4f}"}}) {
    columns.push_back({"", name, NumberFormat(format)});
  }
  return columns;
}

std::vector<Value> MetricCells(std::vector<Value> names, const learn::Evaluation& metrics) {
  names.insert(names.end(), {metrics.rows, metrics.mape, metrics.gmae, metrics.median, metrics.p95,
                             metrics.within_10, metrics.bias, metrics.r2_of_logs});
  return names;
}

void SetMetrics(Value& object, const learn::Evaluation& metrics) {
  object.Set("rows", metrics.rows)
      .Set("mape", metrics.mape)
      .Set("gmae", metrics.gmae)
      .Set("median", metrics.median)
      .Set("p95", metrics.p95)
      .Set("r2", metrics.r2_of_logs)
      .Set("bias", metrics.bias)
      .Set("within_5", metrics.within_5)
      .Set("within_10", metrics.within_10)
      .Set("within_15", metrics.within_15)
      .Set("error_of_sum", metrics.error_of_sum);
}

Value MetricsData(const learn::Evaluation& metrics) {
  Value data = Value::Object();
  SetMetrics(data, metrics);
  return data;
}

std::string RejectedText(std::span<const std::string> files, std::span<const RejectedRow> rows) {
  return fmt::format("{}", fmt::join(RejectedLines(files, rows), "\n"));
}

Document::List NotUsedList(std::span<const std::string> files, std::span<const RejectedRow> rows) {
  return {.key = "",
          .heading = fmt::format("Not used: {} rows", rows.size()),
          .items = RejectedLines(files, rows)};
}

Document EvaluationDocument(const KernelEvaluationResult& result) {
  const kernel::KernelEvaluation evaluation = kernel::Summarize(result.rows);
  Document document{.title = fmt::format("Evaluated: {}; errors in %", result.split),
                    .kind = "Orrery evaluation"};
  Document::Section& section = document.AddSection();
  section.Add(GroupTable(result, evaluation.overall));
  section.Say(DistributionText(evaluation.overall));
  section.Add(WorstTable(evaluation.worst));
  section.Add(NotUsedList(result.data.files, result.data.rejected));
  for (Document::Picture& picture : EvaluationPictures(result)) {
    section.Add(std::move(picture));
  }
  Value groups = Value::List();
  for (const kernel::EvaluatedGroup& group : evaluation.groups) {
    groups.Add(GroupData(group));
  }
  document.data = Value::Object()
                      .Set("split", result.split)
                      .Set("overall", MetricsData(evaluation.overall))
                      .Set("groups", std::move(groups))
                      .Set("rejected_rows", result.data.rejected.size());
  document.sheets.emplace_back("predictions", PredictionTable(result.rows));
  return document;
}

}  // namespace orrery::cli
