#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/api/evaluate/echo.h"
#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/math/statistics.h"
#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/evaluation.h"
#include "orrery/compat/echo/published.h"
#include "orrery/compat/echo/rows.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"

namespace orrery::api {
namespace {

using EchoEvaluation = compat::echo::Evaluation;
using compat::echo::HeldOutEvaluation;
using compat::echo::HeldOutPredictions;
using compat::echo::ModelEvaluation;
using compat::echo::PredictorSummary;
using compat::echo::PublishedLine;

// One predictor with wild errors must not make a stub of the others; its note says how long it is.
constexpr double kLongestPercent = 60;

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

Document::Picture EchoPicture(const EchoEvaluation& evaluation) {
  draw::SpreadChart chart{.quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each predictor are spread"};
  for (const HeldOutPredictions& predictions : evaluation.by_segment.validation.predictors) {
    chart.rows.push_back(SpreadOf(predictions.predictor, Errors(evaluation, predictions)));
  }
  return {.heading = "Kernels concurrent with communication: predicted durations",
          .svg = draw::RenderSpreadChart(chart),
          .caption = fmt::format("Echo's public table, overlapped rows held out by segments of "
                                 "communication. {}",
                                 kSpreadCaption),
          .legend = {{.name = "ours", .style = "compute"}, {.name = "others", .style = "memory"}}};
}

void AddPublished(const EchoEvaluation& evaluation, Document& document) {
  Document::List lines{
      .heading = "As shipped (the overlapped rows, most of them trained on, features raw)"};
  for (const PublishedLine& line : evaluation.published) {
    lines.items.push_back(line.Text());
  }
  if (!evaluation.differences) {
    lines.items.emplace_back("There is no output_metrics.txt to compare with.");
  } else if (evaluation.differences->empty()) {
    lines.items.push_back(fmt::format("All {} lines of output_metrics.txt agree in every digit.",
                                      evaluation.published.size()));
  } else {
    for (const std::string& difference : *evaluation.differences) {
      lines.items.push_back("differs: " + difference);
    }
  }
  document.AddSection().Add(std::move(lines));
}

void AddFed(const EchoEvaluation& evaluation, Document& document) {
  const NumberFormat percent("{:.1f}");
  const NumberFormat fit("{:.3f}");
  Document::Table table{.columns = {AsText("Echo's model"), Formatted("overlapped", percent),
                                    Formatted("held out", percent),
                                    Formatted("held out, overlapped", percent),
                                    Formatted("total held out", NumberFormat("{:+.1f}")),
                                    Formatted("R² of slowdown", fit), Formatted("R² trained", fit),
                                    Formatted("R² held out", fit)}};
  for (const ModelEvaluation& fed : evaluation.fed) {
    table.rows.push_back({fed.input, fed.overlapped.mape, fed.held_out.mape,
                          fed.held_out_overlapped.mape, fed.held_out.error_of_sum,
                          fed.r2_of_slowdown, fed.r2_trained, fed.r2_held_out});
  }
  const ModelEvaluation& fed = evaluation.fed.front();
  document.AddSection()
      .Say(fmt::format("Fed correctly: standardised with the {} training rows of its split (seed "
                       "42, {} held out, {} of them overlapped).",
                       evaluation.train_rows, fed.held_out.rows, fed.held_out_overlapped.rows))
      .Say(fmt::format("MAPE of the duration, in %; {} overlapped rows", fed.overlapped.rows))
      .Add(std::move(table));
}

void AddLeftOut(const EchoEvaluation& evaluation, Document& document) {
  Document::Section& section = document.AddSection();
  if (evaluation.left_out.empty()) {
    section.Say(
        "No rows are left out: the clocks of the two runs agree where Echo's public table has its "
        "step.");
    return;
  }
  Document::Table table{.columns = {AsNumber("id"), AsText("", "kernel", 44),
                                    Formatted("alone us", NumberFormat("{:.1f}", 1e-3)),
                                    Formatted("together us", NumberFormat("{:.1f}", 1e-3)),
                                    Formatted("ratio", NumberFormat("{:.2f}"))},
                        .max_shown = SIZE_MAX};
  for (const compat::echo::KernelRow& row : evaluation.left_out) {
    table.rows.push_back(
        {row.id, row.name, row.alone_ns, row.together_ns, row.together_ns / row.alone_ns});
  }
  section
      .Say(fmt::format("Left out, {} rows between the changes of the clock in the two runs:",
                       evaluation.left_out.size()))
      .Add(std::move(table));
}

std::string DifferenceText(const PredictorSummary& summary) {
  const auto& difference = summary.from_median;
  if (difference.low == 0 && difference.high == 0) {
    return "–";
  }
  return fmt::format("{:+.2f} ({:+.2f} to {:+.2f})", difference.mean, difference.low,
                     difference.high);
}

Document::Table SummaryTable(const HeldOutEvaluation& evaluation) {
  const NumberFormat percent("{:.1f}");
  const NumberFormat mape("{:.2f}");
  const NumberFormat signed_percent("{:+.2f}");
  Document::Table table{.columns = {AsText("predictor"), Formatted("MAPE", mape),
                                    AsNumber("against the median"), Formatted("≤5 %", percent),
                                    Formatted("≤10 %", percent), Formatted("≤15 %", percent),
                                    Formatted("R² of ln", mape), Formatted("MAPE all", mape),
                                    Formatted("total", signed_percent),
                                    Formatted("total overlapped", signed_percent)}};
  for (const PredictorSummary& summary : evaluation.summaries) {
    table.rows.push_back({summary.predictor, summary.mape, DifferenceText(summary),
                          summary.within_5, summary.within_10, summary.within_15,
                          summary.r2_of_logs, summary.mape_all, summary.total,
                          summary.total_overlapped});
  }
  return table;
}

void AddOurs(const EchoEvaluation& evaluation, Document& document) {
  const auto& validation = evaluation.by_segment.validation;
  const auto& from_median = evaluation.by_segment.summaries.front().from_median;
  Document::Section& section = document.AddSection();
  section.Say(fmt::format(
      "Ours: 5-fold cross-validation, {} times over, {} rows. Held out together: all that ran from "
      "the begin of one\ncommunication to the next ({} segments), so that no neighbour of a test "
      "row is trained on. Means over the repeats,\nin %; MAPE of overlapped rows; against the "
      "median: points, with a 95 % interval from resampled segments.",
      validation.predictors.front().durations_ns.size(), validation.rows.size(),
      evaluation.num_segments));
  section.Add(SummaryTable(evaluation.by_segment));
  section.Say(fmt::format(
      "ours combines {} forms and chooses none; 'one form' chooses one within the training "
      "part.\nThe forms were designed on this table (docs/validation/echo-slowdown.md); at 99 % "
      "the interval of ours is {:+.2f} to {:+.2f}.\n"
      "Noise: rows without overlap repeat within {:+.1f} to {:+.1f} % (10th and 90th percentile).",
      compat::echo::NumForms(), from_median.low_99, from_median.high_99,
      100 * (evaluation.noise_low - 1), 100 * (evaluation.noise_high - 1)));
  document.AddSection()
      .Say("For comparison, single rows held out, as Echo's users do:")
      .Add(SummaryTable(evaluation.by_row));
}

}  // namespace

Document DocumentOf(const compat::echo::Evaluation& evaluation) {
  Document document{
      .title = fmt::format("Echo's slowdown model: {} trees, {} nodes; {} kernels",
                           evaluation.num_trees, evaluation.num_nodes, evaluation.rows.size()),
      .kind = "Orrery evaluation"};
  AddPublished(evaluation, document);
  AddFed(evaluation, document);
  AddLeftOut(evaluation, document);
  AddOurs(evaluation, document);
  document.AddSection().Add(EchoPicture(evaluation));
  document.sheets.emplace_back("predictions", compat::echo::PredictionTable(evaluation));
  return document;
}

}  // namespace orrery::api
