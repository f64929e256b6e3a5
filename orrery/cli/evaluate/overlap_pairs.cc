#include "orrery/cli/evaluate/overlap_pairs.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "orrery/base/csv.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/overlap_pairs.h"
#include "orrery/cli/overlap_pairs_plot.h"
#include "orrery/cli/terminal.h"
#include "orrery/draw/json_writer.h"
#include "orrery/draw/text_table.h"
#include "orrery/draw/value_output.h"
#include "orrery/overlap/evaluation.h"

namespace orrery::cli {
namespace {

using overlap::OverlapEvaluation;

draw::TextTable PredictorTable(const OverlapEvaluation& evaluation) {
  constexpr auto kRight = draw::TextTable::Align::kRight;
  draw::TextTable table({{"predictor"},
                         {"rows", kRight},
                         {"MAPE", kRight},
                         {"median", kRight},
                         {"within 5 %", kRight},
                         {"10 %", kRight},
                         {"15 %", kRight},
                         {"R2", kRight},
                         {"R2 of the slowdown", kRight},
                         {"total", kRight}});
  std::vector<overlap::PredictorEvaluation> lines = evaluation.predictors;
  lines.insert(lines.begin() + 1, evaluation.as_planned);
  for (const overlap::PredictorEvaluation& line : lines) {
    const learn::Evaluation& figures = line.duration;
    table.AddRow(
        {line.name, fmt::format("{}", figures.rows), fmt::format("{:.2f}", figures.mape),
         fmt::format("{:.2f}", figures.median), fmt::format("{:.1f}", figures.within_5),
         fmt::format("{:.1f}", figures.within_10), fmt::format("{:.1f}", figures.within_15),
         fmt::format("{:.4f}", figures.r2_of_logs), fmt::format("{:.3f}", line.r2_of_slowdown),
         fmt::format("{:+.2f} %", figures.error_of_sum)});
  }
  return table;
}

std::string Text(const OverlapEvaluation& evaluation, const std::string& what) {
  std::string text =
      fmt::format("Evaluated: {}; the kernel's duration beside communication, errors in %\n\n{}", what,
                  PredictorTable(evaluation).Render());
  const overlap::DelayEvaluation& delays = evaluation.delays;
  text += fmt::format(
      "\nCommunication beside kernels: MAPE {:.2f} %, {:.1f} % within 10 % ({} rows)\n"
      "Waiting for room: median error {:.1f} % of {} waits above {} us; \"it waits\" is right in "
      "{:.0f} % and finds {:.0f} %\n"
      "Repeats alone differ by {:.2f} % (median between quartiles)\n\n",
      evaluation.communication.mape, evaluation.communication.within_10,
      evaluation.communication.rows, delays.median_error, delays.waited, overlap::kLeastDelayUs,
      delays.precision, delays.recall, evaluation.noise_floor);
  draw::TextTable groups = FigureTable({{"by"}, {""}});
  for (const overlap::Group& group : evaluation.groups) {
    AddFigures(groups, {group.what, group.name}, group.duration);
  }
  text += groups.Render();
  text += "\nMAPE of the slowdown grows by so many points when a group of features says nothing\n";
  for (const learn::GroupImportance& group : evaluation.importance) {
    text +=
        fmt::format("  {:<24}{:+.2f} ± {:.2f}\n", group.name, group.mean_increase, group.spread);
  }
  return text;
}

Value FiguresValue(const overlap::PredictorEvaluation& figures) {
  Value entry = Value::Object();
  entry.Set("name", figures.name);
  SetFigures(entry, figures.duration);
  entry.Set("r2_of_stretch", figures.r2_of_slowdown);
  return entry;
}

std::string Json(const OverlapEvaluation& evaluation, const std::string& what) {
  Value document = Value::Object();
  document.Set("judged", what);
  Value predictors = Value::List();
  for (const overlap::PredictorEvaluation& figures : evaluation.predictors) {
    predictors.Add(FiguresValue(figures));
  }
  document.Set("predictors", std::move(predictors));
  document.Set("as_planned", FiguresValue(evaluation.as_planned));
  Value communication = Value::Object();
  SetFigures(communication, evaluation.communication);
  document.Set("communication", std::move(communication));
  Value delays = Value::Object();
  delays.Set("waited", static_cast<std::int64_t>(evaluation.delays.waited));
  delays.Set("median_error", evaluation.delays.median_error);
  delays.Set("precision", evaluation.delays.precision);
  delays.Set("recall", evaluation.delays.recall);
  document.Set("delays", std::move(delays));
  document.Set("noise_floor", evaluation.noise_floor);
  Value groups = Value::List();
  for (const overlap::Group& group : evaluation.groups) {
    Value entry = Value::Object();
    entry.Set("by", group.what);
    entry.Set("name", group.name);
    SetFigures(entry, group.duration);
    groups.Add(std::move(entry));
  }
  document.Set("groups", std::move(groups));
  Value importance = Value::List();
  for (const learn::GroupImportance& group : evaluation.importance) {
    Value entry = Value::Object();
    entry.Set("features", group.name);
    entry.Set("increase", group.mean_increase);
    importance.Add(std::move(entry));
  }
  document.Set("importance", std::move(importance));
  draw::JsonWriter json;
  draw::WriteValue(json, document);
  return json.Finish();
}

Table PredictionsOf(const OverlapEvaluation& evaluation, const overlap::PairTable& data) {
  Table table;
  const std::size_t file = table.AddColumn("file", Table::Type::kText);
  const std::size_t line = table.AddColumn("line", Table::Type::kInteger);
  const std::size_t kernel = table.AddColumn("kernel", Table::Type::kText);
  const std::size_t mode = table.AddColumn("mode", Table::Type::kText);
  const std::size_t blocks = table.AddColumn("blocks", Table::Type::kInteger);
  const std::size_t alone = table.AddColumn("alone_us", Table::Type::kNumber);
  const std::size_t measured = table.AddColumn("measured_us", Table::Type::kNumber);
  const std::size_t predicted = table.AddColumn("predicted_us", Table::Type::kNumber);
  for (const overlap::EvaluatedPair& evaluated : evaluation.rows) {
    const std::size_t row = table.AddRow();
    table.Set(row, file, data.files[evaluated.row->file]);
    table.Set(row, line, static_cast<std::int64_t>(evaluated.row->line));
    table.Set(row, kernel, evaluated.row->kernel);
    table.Set(row, mode, evaluated.row->mode == overlap::Mode::kSteady ? "steady" : "arrival");
    table.Set(row, blocks, evaluated.row->pair.communication.shape.blocks);
    table.Set(row, alone, evaluated.row->pair.compute.alone_us);
    table.Set(row, measured, evaluated.row->together_us);
    table.Set(row, predicted, evaluated.predicted_us);
  }
  return table;
}

/// What was evaluated and by what, and the figures.
struct Evaluated {
  std::string what;
  OverlapEvaluation evaluation;
};

Result<Evaluated> EvaluatePairs(const EvaluateOverlapPairsArguments& arguments,
                          const overlap::PairTable& data) {
  if (!arguments.model.empty() || arguments.held_out == "none") {
    std::vector<const overlap::MeasuredPair*> all;
    for (const overlap::MeasuredPair& row : data.rows) {
      all.push_back(&row);
    }
    if (arguments.model.empty()) {
      ORRERY_TRY(const auto model, overlap::ShippedModel());
      return Evaluated{"all rows, by the shipped model (it may have learned from them)",
                    overlap::Evaluate(*model, all, all)};
    }
    ORRERY_TRY(const overlap::LearnedModel model, overlap::ReadLearnedModel(arguments.model));
    return Evaluated{"all rows, by " + arguments.model, overlap::Evaluate(model, all, all)};
  }
  ORRERY_TRY(const overlap::HeldOut what, overlap::HeldOutOf(arguments.held_out));
  const overlap::PairSplit split = overlap::SplitPairs(data.rows, what, arguments.seed);
  if (split.train.empty() || split.test.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("held out by {} nothing is left to learn from or to evaluate; take more "
                            "rows, or another --held-out",
                            arguments.held_out));
  }
  ORRERY_TRY(const overlap::LearnedModel model,
             overlap::FitOverlap(split.train, {.seed = arguments.seed}));
  return Evaluated{fmt::format("{} rows that were not learned from, held out by {}", split.test.size(),
                            arguments.held_out),
                overlap::Evaluate(model, split.train, split.test)};
}

Status WriteFiles(const EvaluateOverlapPairsArguments& arguments, const overlap::PairTable& data,
                  const Evaluated& evaluated) {
  std::string predictions = arguments.predictions;
  std::string plot = arguments.plot;
  if (!arguments.output.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(arguments.output, failed);
    const std::filesystem::path folder = arguments.output;
    std::ofstream(folder / "evaluation.json") << Json(evaluated.evaluation, evaluated.what);
    std::ofstream(folder / "evaluation.txt") << Text(evaluated.evaluation, evaluated.what);
    predictions = (folder / "predictions.csv").string();
    plot = (folder / "errors.svg").string();
  }
  if (!predictions.empty()) {
    ORRERY_TRY_STATUS(WriteCsvFile(PredictionsOf(evaluated.evaluation, data), predictions));
  }
  return plot.empty() ? Status() : WriteOverlapPlot(evaluated.evaluation, plot);
}

}  // namespace

Result<int> EvaluateOverlapPairs(const EvaluateOverlapPairsArguments& arguments) {
  ORRERY_TRY(const overlap::PairTable data, ReadOverlapPairs(arguments.paths, arguments.counters));
  ORRERY_TRY(const Evaluated evaluated, EvaluatePairs(arguments, data));
  ORRERY_TRY_STATUS(WriteFiles(arguments, data, evaluated));
  Print(arguments.as_json ? Json(evaluated.evaluation, evaluated.what)
                          : Text(evaluated.evaluation, evaluated.what));
  return NoticeRejectedPairs(data);
}

}  // namespace orrery::cli
