#include "orrery/cli/evaluate/output.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/value.h"
#include "orrery/draw/text_table.h"
#include "orrery/draw/value_output.h"

namespace orrery::cli {

namespace {

constexpr std::size_t kShownRejected = 10;

using draw::TextTable;

std::string Percent(double value) {
  return fmt::format("{:.1f}", value);
}

std::vector<std::string> FigureCells(const learn::Evaluation& figures) {
  return {fmt::format("{}", figures.rows),
          fmt::format("{:.2f}", figures.mape),
          fmt::format("{:.2f}", figures.gmae),
          Percent(figures.median),
          Percent(figures.p95),
          Percent(figures.within_10),
          fmt::format("{:+.1f}", figures.bias),
          fmt::format("{:.4f}", figures.r2_of_logs)};
}

std::string DistributionText(const learn::Evaluation& figures) {
  std::string text = "\nRows by |error|, %:";
  double begin = 0;
  for (std::size_t bin = 0; bin < figures.histogram.size(); ++bin) {
    const bool is_last = bin == learn::kErrorBinEnds.size();
    if (figures.histogram[bin] > 0) {
      text += is_last ? fmt::format("  >{:.0f}: {}", begin, figures.histogram[bin])
                      : fmt::format("  {:.0f}-{:.0f}: {}", begin, learn::kErrorBinEnds[bin],
                                    figures.histogram[bin]);
    }
    begin = is_last ? begin : learn::kErrorBinEnds[bin];
  }
  return text + "\n";
}

std::string WorstText(std::span<const kernel::EvaluatedRow> worst) {
  constexpr auto kRight = TextTable::Align::kRight;
  TextTable table({{"operator", TextTable::Align::kLeft, 90},
                   {"GPU"},
                   {"measured us", kRight},
                   {"predicted us", kRight},
                   {"error %", kRight}});
  for (const kernel::EvaluatedRow& row : worst) {
    const double error = row.predicted.seconds / row.measured.seconds - 1;
    table.AddRow({kernel::Text(row.measured.op), row.measured.gpu->name,
                  fmt::format("{:.2f}", row.measured.seconds * 1e6),
                  fmt::format("{:.2f}", row.predicted.seconds * 1e6),
                  fmt::format("{:+.0f}", error * 100)});
  }
  return "\nWorst rows\n" + table.Render();
}

}  // namespace

TextTable FigureTable(std::vector<TextTable::Column> names) {
  constexpr auto kRight = TextTable::Align::kRight;
  for (const char* const figure :
       {"rows", "MAPE", "GMAE", "median", "p95", "within 10 %", "bias", "R2"}) {
    names.push_back({figure, kRight});
  }
  return TextTable(std::move(names));
}

void AddFigures(TextTable& table, std::vector<std::string> cells,
                const learn::Evaluation& figures) {
  std::ranges::move(FigureCells(figures), std::back_inserter(cells));
  table.AddRow(std::move(cells));
}

void SetFigures(Value& object, const learn::Evaluation& figures) {
  object.Set("rows", static_cast<std::int64_t>(figures.rows));
  object.Set("mape", figures.mape);
  object.Set("gmae", figures.gmae);
  object.Set("median", figures.median);
  object.Set("p95", figures.p95);
  object.Set("r2", figures.r2_of_logs);
  object.Set("bias", figures.bias);
  object.Set("within_5", figures.within_5);
  object.Set("within_10", figures.within_10);
  object.Set("within_15", figures.within_15);
  object.Set("error_of_sum", figures.error_of_sum);
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

std::string RejectedText(std::span<const std::string> files, std::span<const RejectedRow> rows) {
  std::vector<std::string> lines;
  for (const RejectedRow& row : rows.first(std::min(rows.size(), kShownRejected))) {
    const std::string line = row.line == 0 ? "" : fmt::format(":{}", row.line);
    lines.push_back(fmt::format("{}{}: {}", files[row.file], line, row.reason));
  }
  if (rows.size() > kShownRejected) {
    lines.push_back(fmt::format("… and {} more rows", rows.size() - kShownRejected));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string RejectedText(const kernel::Measurements& data) {
  return RejectedText(data.files, data.rejected);
}

std::string NotUsedText(const kernel::Measurements& data) {
  return data.rejected.empty()
             ? std::string()
             : fmt::format("\nNot used: {} rows\n{}\n", data.rejected.size(), RejectedText(data));
}

std::string EvaluationText(const KernelEvaluationResult& result) {
  const kernel::KernelEvaluation evaluation = kernel::Summarize(result.rows);
  TextTable table = FigureTable({{"operator"}, {"GPU"}, {"timing"}});
  for (const kernel::EvaluatedGroup& group :
       kernel::GroupsOf(result.rows, kernel::GroupBy::kOperatorGpu)) {
    AddFigures(table,
               {group.operator_name, group.gpu, std::string(kernel::TimingName(group.timing))},
               group.figures);
  }
  AddFigures(table, {"all", "", ""}, evaluation.overall);
  std::string text = fmt::format("Evaluated: {}; errors in %\n\n", result.split) + table.Render();
  text += DistributionText(evaluation.overall);
  text += WorstText(evaluation.worst);
  return text + NotUsedText(result.data);
}

std::string EvaluationJson(const KernelEvaluationResult& result) {
  const kernel::KernelEvaluation evaluation = kernel::Summarize(result.rows);
  Value document = Value::Object();
  document.Set("split", result.split);
  Value overall = Value::Object();
  SetFigures(overall, evaluation.overall);
  document.Set("overall", std::move(overall));
  Value groups = Value::List();
  for (const kernel::EvaluatedGroup& group : evaluation.groups) {
    Value object = Value::Object();
    object.Set("operator", group.operator_name);
    object.Set("gpu", group.gpu);
    object.Set("dtype", group.type);
    object.Set("timing", std::string(kernel::TimingName(group.timing)));
    SetFigures(object, group.figures);
    groups.Add(std::move(object));
  }
  document.Set("groups", std::move(groups));
  document.Set("rejected_rows", static_cast<std::int64_t>(result.data.rejected.size()));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
}

}  // namespace orrery::cli
