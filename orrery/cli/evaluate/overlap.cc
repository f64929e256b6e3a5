#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/statistics.h"
#include "orrery/base/value.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/evaluation.h"
#include "orrery/compat/echo/published.h"
#include "orrery/compat/echo/rows.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"

namespace orrery::cli {
namespace {

using EchoEvaluation = compat::echo::Evaluation;
using compat::echo::HeldOutEvaluation;
using compat::echo::HeldOutPredictions;
using compat::echo::KernelRow;
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

struct EvaluateEchoArguments {
  std::string folder;
  int repeats = 10;
  OutputOptions output;
};

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

Value PublishedData(const PublishedLine& line) {
  Value entry = Value::Object();
  entry.Set("label", line.label).Set("value", line.value);
  return line.has_error ? entry.Set("error_percent", line.error_percent) : entry;
}

Value FedData(const ModelEvaluation& fed) {
  return Value::Object()
      .Set("feeding", fed.input)
      .Set("r2_of_slowdown", fed.r2_of_slowdown)
      .Set("r2_trained", fed.r2_trained)
      .Set("r2_held_out", fed.r2_held_out)
      .Set("overlapped", WithMetrics(Value::Object(), fed.overlapped))
      .Set("held_out", WithMetrics(Value::Object(), fed.held_out))
      .Set("held_out_overlapped", WithMetrics(Value::Object(), fed.held_out_overlapped));
}

Value SummaryValue(const PredictorSummary& summary) {
  Value difference = Value::Object();
  difference.Set("mean", summary.from_median.mean)
      .Set("low", summary.from_median.low)
      .Set("high", summary.from_median.high)
      .Set("low_99", summary.from_median.low_99)
      .Set("high_99", summary.from_median.high_99)
      .Set("excludes_equality", summary.from_median.ExcludesEquality());
  return Value::Object()
      .Set("predictor", summary.predictor)
      .Set("mape", summary.mape)
      .Set("mape_minus_median", std::move(difference))
      .Set("within_5", summary.within_5)
      .Set("within_10", summary.within_10)
      .Set("within_15", summary.within_15)
      .Set("r2", summary.r2_of_logs)
      .Set("mape_all", summary.mape_all)
      .Set("total", summary.total)
      .Set("total_overlapped", summary.total_overlapped);
}

Value HeldOutValue(const HeldOutEvaluation& evaluation) {
  const bool by_segment = evaluation.held_out == compat::echo::HeldOut::kSegments;
  return Value::Object()
      .Set("held_out", by_segment ? "stretches" : "rows")
      .Set("folds", 5)
      .Set("repeats", evaluation.validation.predictors.front().durations_ns.size())
      .Set("rows", evaluation.validation.rows.size())
      .Set("predictors", Value::ListOf(evaluation.summaries, SummaryValue));
}

Value DataOf(const EchoEvaluation& evaluation) {
  Value gains = Value::Object();
  for (std::size_t feature = 0; feature < evaluation.gain_shares.size(); ++feature) {
    gains.Set(compat::echo::kFeatures[feature], evaluation.gain_shares[feature]);
  }
  Value document = Value::Object();
  document.Set("rows", evaluation.rows.size())
      .Set("trees", evaluation.num_trees)
      .Set("nodes", evaluation.num_nodes)
      .Set("gain_shares", std::move(gains))
      .Set("published", Value::ListOf(evaluation.published, PublishedData));
  if (evaluation.differences) {
    document.Set("published_agree", evaluation.differences->empty());
  }
  Value evaluated = Value::List();
  evaluated.Add(HeldOutValue(evaluation.by_segment)).Add(HeldOutValue(evaluation.by_row));
  document.Set("fed", Value::ListOf(evaluation.fed, FedData))
      .Set("left_out_ids", Value::ListOf(evaluation.left_out, &KernelRow::id))
      .Set("stretches", evaluation.num_segments)
      .Set("forms", compat::echo::NumForms())
      .Set("noise_low", evaluation.noise_low)
      .Set("noise_high", evaluation.noise_high)
      .Set("cross_validation", std::move(evaluated));
  return document;
}

Document DocumentOf(const EchoEvaluation& evaluation) {
  Document document{
      .title = fmt::format("Echo's slowdown model: {} trees, {} nodes; {} kernels",
                           evaluation.num_trees, evaluation.num_nodes, evaluation.rows.size()),
      .kind = "Orrery evaluation"};
  AddPublished(evaluation, document);
  AddFed(evaluation, document);
  AddLeftOut(evaluation, document);
  AddOurs(evaluation, document);
  document.AddSection().Add(EchoPicture(evaluation));
  document.data = DataOf(evaluation);
  document.sheets.emplace_back("predictions", compat::echo::PredictionTable(evaluation));
  return document;
}

Result<int> EvaluateEchoFolder(const EvaluateEchoArguments& arguments) {
  ProgressLine progress(TerminalProgress(), "fitting and evaluating");
  ORRERY_TRY(const EchoEvaluation evaluation,
             compat::echo::EvaluateFolder(
                 arguments.folder, {.repeats = static_cast<std::size_t>(arguments.repeats)}));
  const bool differs = evaluation.differences && !evaluation.differences->empty();
  progress.Clear();
  return Deliver(DocumentOf(evaluation), arguments.output, differs);
}

struct EvaluateOverlapArguments {
  EvaluateEchoArguments echo;
  EvaluateOverlapPairsArguments pairs;
};

Result<int> EvaluateOverlap(EvaluateOverlapArguments& arguments) {
  if (!arguments.echo.folder.empty()) {
    arguments.echo.output = arguments.pairs.output;
    return EvaluateEchoFolder(arguments.echo);
  }
  if (arguments.pairs.paths.empty()) {
    return InvalidInput(
        "there is nothing to evaluate: name tables of `orrery measure overlap`, or a "
        "folder of Echo's with --echo DIR");
  }
  return EvaluateOverlapPairs(arguments.pairs);
}

void AddPairOptions(Verb& verb, EvaluateOverlapPairsArguments& arguments) {
  verb.AddOption("DATA", arguments.paths,
                 "tables of `orrery measure overlap`; docs/formats/overlap-pairs.md");
  verb.AddOption("--counters FILE", arguments.counters, "tables of counters of the same kernels");
  const Option model =
      verb.AddOption("--model FILE", arguments.model, "evaluate this model on all rows");
  verb.AddOption(
          "--held-out WHAT", arguments.held_out,
          "fit on a part and evaluate the rest: kernel (default), width, pattern, place, row; "
          "none: the shipped model on all rows")
      .Excludes(model)
      .ShowDefault("kernel");
  verb.AddOption("--seed", arguments.seed, "of the split (7)");
  verb.AddOption("--out DIR", arguments.folder,
                 "write metrics, predictions and the pictures into this folder");
}

}  // namespace

void AddEvaluateOverlapCommand(Verb& evaluate) {
  auto arguments = std::make_shared<EvaluateOverlapArguments>();
  arguments->pairs.held_out = "kernel";
  Verb verb = evaluate.AddVerb(
      "overlap", "Predicted against measured times of kernels concurrent with communication");
  AddPairOptions(verb, arguments->pairs);
  verb.AddOption("--echo DIR", arguments->echo.folder,
                 "a folder of Echo-slowdown: merged_features.csv, xgb_model.json");
  verb.AddOption("--repeats", arguments->echo.repeats,
                 "of --echo: repetitions of the cross-validation (10)")
      .Range(1, 1'000);
  verb.AddOption("--predictions FILE", arguments->pairs.output.csv_file,
                 "write every row to this CSV (.gz, .zst)");
  verb.AddOption("--svg FILE", arguments->pairs.output.svg_file, "draw how the errors are spread");
  AddOutputOptions(verb, arguments->pairs.output);
  verb.OnRun([arguments] { return EvaluateOverlap(*arguments); });
}

}  // namespace orrery::cli
