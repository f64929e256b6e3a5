#include "orrery/cli/evaluate/overlap_echo.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/csv.h"
#include "orrery/base/value.h"
#include "orrery/cli/command.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/evaluate/overlap_plot.h"
#include "orrery/cli/terminal.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/text_table.h"
#include "orrery/draw/value_output.h"
#include "orrery/compat/echo/evaluation.h"

namespace orrery::cli {
namespace {

using draw::TextTable;
using EchoEvaluation = compat::echo::Evaluation;
using compat::echo::ModelEvaluation;
using compat::echo::HeldOutEvaluation;
using compat::echo::PredictorSummary;
using compat::echo::PublishedLine;

std::string PublishedText(const EchoEvaluation& evaluation) {
  std::string text = "As shipped (the overlapped rows, most of them trained on, features raw):\n";
  for (const PublishedLine& line : evaluation.published) {
    text += "  " + line.Text() + "\n";
  }
  if (!evaluation.differences) {
    return text + "  There is no output_metrics.txt to compare with.\n";
  }
  if (evaluation.differences->empty()) {
    return text + fmt::format("  All {} lines of output_metrics.txt agree in every digit.\n",
                              evaluation.published.size());
  }
  for (const std::string& difference : *evaluation.differences) {
    text += "  differs: " + difference + "\n";
  }
  return text;
}

std::string FedText(const EchoEvaluation& evaluation) {
  TextTable table({{"Echo's model"},
                   {"overlapped", TextTable::Align::kRight},
                   {"held out", TextTable::Align::kRight},
                   {"held out, overlapped", TextTable::Align::kRight},
                   {"total held out", TextTable::Align::kRight},
                   {"R² of slowdown", TextTable::Align::kRight},
                   {"R² trained", TextTable::Align::kRight},
                   {"R² held out", TextTable::Align::kRight}});
  for (const ModelEvaluation& fed : evaluation.fed) {
    table.AddRow({fed.input, fmt::format("{:.1f}", fed.overlapped.mape),
                  fmt::format("{:.1f}", fed.held_out.mape),
                  fmt::format("{:.1f}", fed.held_out_overlapped.mape),
                  fmt::format("{:+.1f}", fed.held_out.error_of_sum),
                  fmt::format("{:.3f}", fed.r2_of_slowdown), fmt::format("{:.3f}", fed.r2_trained),
                  fmt::format("{:.3f}", fed.r2_held_out)});
  }
  const ModelEvaluation& fed = evaluation.fed.front();
  return fmt::format(
      "Fed correctly: standardised with the {} training rows of its split (seed 42, {} held out, "
      "{} of them overlapped).\nMAPE of the duration, in %; {} overlapped rows\n\n{}",
      evaluation.train_rows, fed.held_out.rows, fed.held_out_overlapped.rows, fed.overlapped.rows,
      table.Render());
}

std::string LeftOutText(const EchoEvaluation& evaluation) {
  if (evaluation.left_out.empty()) {
    return "No rows are left out: the clocks of the two runs agree where Echo's public table has "
           "its "
           "step.\n";
  }
  TextTable table({{"id", TextTable::Align::kRight},
                   {"kernel", TextTable::Align::kLeft, 44},
                   {"alone us", TextTable::Align::kRight},
                   {"together us", TextTable::Align::kRight},
                   {"ratio", TextTable::Align::kRight}});
  for (const compat::echo::KernelRow& row : evaluation.left_out) {
    table.AddRow({std::to_string(row.id), row.name, fmt::format("{:.1f}", row.alone_ns / 1e3),
                  fmt::format("{:.1f}", row.together_ns / 1e3),
                  fmt::format("{:.2f}", row.together_ns / row.alone_ns)});
  }
  return fmt::format("Left out, {} rows between the changes of the clock in the two runs:\n\n{}",
                     evaluation.left_out.size(), table.Render());
}

std::string DifferenceText(const PredictorSummary& summary) {
  const auto& difference = summary.from_median;
  if (difference.low == 0 && difference.high == 0) {
    return "–";
  }
  return fmt::format("{:+.2f} ({:+.2f} to {:+.2f})", difference.mean, difference.low,
                     difference.high);
}

std::string SummaryTable(const HeldOutEvaluation& evaluation) {
  TextTable table({{"predictor"},
                   {"MAPE", TextTable::Align::kRight},
                   {"against the median", TextTable::Align::kRight},
                   {"≤5 %", TextTable::Align::kRight},
                   {"≤10 %", TextTable::Align::kRight},
                   {"≤15 %", TextTable::Align::kRight},
                   {"R² of ln", TextTable::Align::kRight},
                   {"MAPE all", TextTable::Align::kRight},
                   {"total", TextTable::Align::kRight},
                   {"total overlapped", TextTable::Align::kRight}});
  for (const PredictorSummary& summary : evaluation.summaries) {
    table.AddRow({summary.predictor, fmt::format("{:.2f}", summary.mape), DifferenceText(summary),
                  fmt::format("{:.1f}", summary.within_5), fmt::format("{:.1f}", summary.within_10),
                  fmt::format("{:.1f}", summary.within_15),
                  fmt::format("{:.2f}", summary.r2_of_logs),
                  fmt::format("{:.2f}", summary.mape_all), fmt::format("{:+.2f}", summary.total),
                  fmt::format("{:+.2f}", summary.total_overlapped)});
  }
  return table.Render();
}

std::string OursText(const EchoEvaluation& evaluation) {
  const auto& validation = evaluation.by_segment.validation;
  return fmt::format(
      "Ours: 5-fold cross-validation, {} times over, {} rows. Held out together: all that ran from "
      "the begin of one\ncommunication to the next ({} segments), so that no neighbour of a test "
      "row is trained on. Means over the repeats,\nin %; MAPE of overlapped rows; against the "
      "median: points, with a 95 % interval from resampled segments.\n\n{}\n"
      "ours puts {} forms together and chooses none; 'one form' chooses one inside of the training "
      "part.\nThe forms were thought up on this table (docs/validation/echo-slowdown.md); at 99 % "
      "the interval of ours is {:+.2f} to {:+.2f}.\n"
      "Noise: rows without overlap repeat within {:+.1f} to {:+.1f} % (10th and 90th "
      "percentile).\n\nFor comparison, single rows held out, as Echo's users do:\n\n{}",
      validation.predictors.front().durations_ns.size(), validation.rows.size(),
      evaluation.num_segments, SummaryTable(evaluation.by_segment), compat::echo::NumForms(),
      evaluation.by_segment.summaries.front().from_median.low_99,
      evaluation.by_segment.summaries.front().from_median.high_99, 100 * (evaluation.noise_low - 1),
      100 * (evaluation.noise_high - 1), SummaryTable(evaluation.by_row));
}

std::string Text(const EchoEvaluation& evaluation) {
  return fmt::format("Echo's slowdown model: {} trees, {} nodes; {} kernels\n\n{}\n{}\n{}\n{}",
                     evaluation.num_trees, evaluation.num_nodes, evaluation.rows.size(),
                     PublishedText(evaluation), FedText(evaluation), LeftOutText(evaluation),
                     OursText(evaluation));
}

Value PublishedValue(const EchoEvaluation& evaluation) {
  Value lines = Value::List();
  for (const PublishedLine& line : evaluation.published) {
    Value entry = Value::Object();
    entry.Set("label", line.label).Set("value", line.value);
    if (line.has_error) {
      entry.Set("error_percent", line.error_percent);
    }
    lines.Add(std::move(entry));
  }
  return lines;
}

Value FedValue(const EchoEvaluation& evaluation) {
  Value list = Value::List();
  for (const ModelEvaluation& fed : evaluation.fed) {
    Value entry = Value::Object();
    entry.Set("feeding", fed.input)
        .Set("r2_of_slowdown", fed.r2_of_slowdown)
        .Set("r2_trained", fed.r2_trained)
        .Set("r2_held_out", fed.r2_held_out);
    for (const auto& [name, figures] : {std::pair{"overlapped", &fed.overlapped},
                                        {"held_out", &fed.held_out},
                                        {"held_out_overlapped", &fed.held_out_overlapped}}) {
      Value object = Value::Object();
      SetFigures(object, *figures);
      entry.Set(name, std::move(object));
    }
    list.Add(std::move(entry));
  }
  return list;
}

Value SummaryValue(const PredictorSummary& summary) {
  Value difference = Value::Object();
  difference.Set("mean", summary.from_median.mean)
      .Set("low", summary.from_median.low)
      .Set("high", summary.from_median.high)
      .Set("low_99", summary.from_median.low_99)
      .Set("high_99", summary.from_median.high_99)
      .Set("excludes_equality", summary.from_median.ExcludesEquality());
  Value entry = Value::Object();
  entry.Set("predictor", summary.predictor)
      .Set("mape", summary.mape)
      .Set("mape_minus_median", std::move(difference))
      .Set("within_5", summary.within_5)
      .Set("within_10", summary.within_10)
      .Set("within_15", summary.within_15)
      .Set("r2", summary.r2_of_logs)
      .Set("mape_all", summary.mape_all)
      .Set("total", summary.total)
      .Set("total_overlapped", summary.total_overlapped);
  return entry;
}

Value HeldOutValue(const HeldOutEvaluation& evaluation) {
  const bool by_segment = evaluation.held_out == compat::echo::HeldOut::kSegments;
  Value predictors = Value::List();
  for (const PredictorSummary& summary : evaluation.summaries) {
    predictors.Add(SummaryValue(summary));
  }
  Value entry = Value::Object();
  entry.Set("held_out", by_segment ? "stretches" : "rows")
      .Set("folds", 5)
      .Set("repeats", evaluation.validation.predictors.front().durations_ns.size())
      .Set("rows", evaluation.validation.rows.size())
      .Set("predictors", std::move(predictors));
  return entry;
}

std::string Json(const EchoEvaluation& evaluation) {
  Value left_out = Value::List();
  for (const compat::echo::KernelRow& row : evaluation.left_out) {
    left_out.Add(row.id);
  }
  Value gains = Value::Object();
  for (std::size_t feature = 0; feature < evaluation.gain_shares.size(); ++feature) {
    gains.Set(compat::echo::kFeatures[feature], evaluation.gain_shares[feature]);
  }
  Value document = Value::Object();
  document.Set("rows", evaluation.rows.size())
      .Set("trees", evaluation.num_trees)
      .Set("nodes", evaluation.num_nodes)
      .Set("gain_shares", std::move(gains))
      .Set("published", PublishedValue(evaluation));
  if (evaluation.differences) {
    document.Set("published_agree", evaluation.differences->empty());
  }
  Value evaluated = Value::List();
  evaluated.Add(HeldOutValue(evaluation.by_segment)).Add(HeldOutValue(evaluation.by_row));
  document.Set("fed", FedValue(evaluation))
      .Set("left_out_ids", std::move(left_out))
      .Set("stretches", evaluation.num_segments)
      .Set("forms", compat::echo::NumForms())
      .Set("noise_low", evaluation.noise_low)
      .Set("noise_high", evaluation.noise_high)
      .Set("cross_validation", std::move(evaluated));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
}

}  // namespace

Result<int> EvaluateEchoFolder(const EvaluateEchoArguments& arguments) {
  ORRERY_TRY(const EchoEvaluation evaluation,
             compat::echo::EvaluateFolder(arguments.folder,
                                         {.repeats = static_cast<std::size_t>(arguments.repeats)}));
  if (!arguments.predictions.empty()) {
    ORRERY_TRY_STATUS(
        WriteCsvFile(compat::echo::PredictionTable(evaluation), arguments.predictions));
  }
  if (!arguments.plot.empty()) {
    ORRERY_TRY_STATUS(WriteEchoPlot(evaluation, arguments.plot));
  }
  Print(arguments.as_json ? Json(evaluation) : Text(evaluation));
  const bool differs = evaluation.differences && !evaluation.differences->empty();
  return differs ? kExitPartial : kExitOk;
}

}  // namespace orrery::cli
