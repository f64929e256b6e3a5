#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/byte_sink.h"
#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/learn/metrics.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"
#include "orrery/report/document.h"

namespace orrery::cli {
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

Value PredictorData(const calibrate::PredictorEvaluation& metrics) {
  return WithMetrics(Value::Object().Set("name", metrics.name), metrics.duration)
      .Set("r2_of_stretch", metrics.r2_of_slowdown);
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
  section.Set("communication", WithMetrics(Value::Object(), evaluation.communication))
      .Set("delays", Value::Object()
                         .Set("waited", delays.waited)
                         .Set("median_error", delays.median_error)
                         .Set("precision", delays.precision)
                         .Set("recall", delays.recall))
      .Set("noise_floor", evaluation.noise_floor);
}

void AddGroups(const OverlapEvaluation& evaluation, Document::Section& section) {
  Document::Table table{.columns = MetricColumns({"by", ""}), .max_shown = SIZE_MAX};
  for (const calibrate::PairGroup& group : evaluation.groups) {
    table.rows.push_back(MetricCells({group.what, group.name}, group.duration));
  }
  section.Add(std::move(table))
      .Set("groups", Value::ListOf(evaluation.groups, [](const calibrate::PairGroup& group) {
             return WithMetrics(Value::Object().Set("by", group.what).Set("name", group.name),
                                group.duration);
           }));
}

void AddImportance(const OverlapEvaluation& evaluation, Document& document) {
  Document::Section& section = document.AddSection(
      "Increase of the slowdown's MAPE, in points, without a group of features");
  Value importance = Value::List();
  for (const learn::GroupImportance& group : evaluation.importance) {
    section.Show(group.name, fmt::format("{:+.2f} ± {:.2f}", group.mean_increase, group.spread));
    importance.Add(
        Value::Object().Set("features", group.name).Set("increase", group.mean_increase));
  }
  section.Set("importance", std::move(importance));
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

/// The evaluated model and rows, and the result.
struct Evaluated {
  std::string what;
  OverlapEvaluation evaluation;
};

Document DocumentOf(const Evaluated& evaluated, const overlap::PairTable& data) {
  const OverlapEvaluation& evaluation = evaluated.evaluation;
  Document document{
      .title = fmt::format("Evaluated: {}; the kernel's duration during communication, errors in %",
                           evaluated.what),
      .kind = "Orrery evaluation"};
  Document::Section& section = document.AddSection();
  section.Set("judged", evaluated.what)
      .Set("predictors", Value::ListOf(evaluation.predictors, PredictorData))
      .Set("as_planned", PredictorData(evaluation.as_planned))
      .Add(PredictorTable(evaluation));
  AddSummary(evaluation, section);
  AddGroups(evaluation, section);
  AddImportance(evaluation, document);
  std::ranges::move(OverlapPictures(evaluation), std::back_inserter(document.AddSection().blocks));
  document.sheets.emplace_back("predictions", PredictionsOf(evaluation, data));
  return document;
}

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
                       calibrate::EvaluateOverlap(*model, all, all)};
    }
    ORRERY_TRY(const overlap::LearnedModel model, overlap::ReadLearnedModel(arguments.model));
    return Evaluated{"all rows, by " + arguments.model,
                     calibrate::EvaluateOverlap(model, all, all)};
  }
  ORRERY_TRY(const calibrate::HeldOut what, calibrate::HeldOutOf(arguments.held_out));
  const calibrate::PairSplit split = calibrate::SplitPairs(data.rows, what, arguments.seed);
  if (split.train.empty() || split.test.empty()) {
    return InvalidInput(
        "held out by {} nothing is left to learn from or to evaluate; take more "
        "rows, or another --held-out",
        arguments.held_out);
  }
  ProgressLine progress(TerminalProgress(), "fitting");
  ORRERY_TRY(const overlap::LearnedModel model,
             calibrate::FitOverlap(split.train, {.seed = arguments.seed},
                                   [&](std::string_view part) { progress.Update(0, 0, part); }));
  return Evaluated{fmt::format("{} rows that were not learned from, held out by {}",
                               split.test.size(), arguments.held_out),
                   calibrate::EvaluateOverlap(model, split.train, split.test)};
}

Status WriteFolder(const std::string& name, const Document& document) {
  std::error_code failed;
  std::filesystem::create_directories(name, failed);
  if (failed) {
    return Fail(Error::Kind::kSystem,
                fmt::format("{}: cannot be created: {}", name, failed.message()));
  }
  const std::filesystem::path folder = name;
  ORRERY_TRY_STATUS(WriteFile(folder / "evaluation.json", report::RenderJson(document)));
  ORRERY_TRY_STATUS(WriteFile(folder / "evaluation.txt", report::RenderText(document)));
  return WriteOutputFiles(
      document, {.csv_file = folder / "predictions.csv", .svg_file = folder / "errors.svg"});
}

}  // namespace

Result<int> EvaluateOverlapPairs(const EvaluateOverlapPairsArguments& arguments) {
  ORRERY_TRY(const overlap::PairTable data, ReadOverlapPairs(arguments.paths, arguments.counters));
  ORRERY_TRY(const Evaluated evaluated, EvaluatePairs(arguments, data));
  const Document document = DocumentOf(evaluated, data);
  if (!arguments.folder.empty()) {
    ORRERY_TRY_STATUS(WriteFolder(arguments.folder, document));
  }
  ORRERY_TRY_STATUS(Deliver(document, arguments.output));
  return NoticeRejected(data);
}

}  // namespace orrery::cli
