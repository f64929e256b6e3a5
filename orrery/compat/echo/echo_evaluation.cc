#include "orrery/compat/echo/echo_evaluation.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/byte_source.h"
#include "orrery/base/csv.h"
#include "orrery/base/statistics.h"
#include "orrery/compat/echo/legacy_shuffle.h"
#include "orrery/compat/echo/schedule.h"

namespace orrery::compat::echo {
namespace {

constexpr double kTestShare = 0.2;
constexpr std::uint32_t kSplitSeed = 42;
constexpr std::size_t kFewestRows = 50;

std::string FileIn(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

Result<std::string> ReadText(const std::string& path) {
  ORRERY_TRY(auto file, OpenFile(path));
  const auto source = Unpack(std::move(file));
  auto text = ReadAll(*source);
  return text ? std::move(text) : FailWithin(path, text);
}

Result<std::vector<EchoRow>> ReadRows(const std::string& folder) {
  const std::string path = FileIn(folder, "merged_features.csv");
  ORRERY_TRY(const Table table, ReadCsvFile(path));
  auto rows = ReadEchoRows(table);
  if (!rows) {
    return FailWithin(path, rows);
  }
  const ClockStep step = PublicClockStep(*rows);
  const auto usable =
      std::ranges::count_if(*rows, [&](const EchoRow& row) { return !step.Spoils(row); });
  const auto overlapped = std::ranges::count_if(
      *rows, [&](const EchoRow& row) { return !step.Spoils(row) && row.IsOverlapped(); });
  if (static_cast<std::size_t>(usable) < kFewestRows ||
      static_cast<std::size_t>(overlapped) < kFewestRows / 2) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: {} rows of which {} overlap are too few to evaluate; {} and {} are "
                            "wanted",
                            path, usable, overlapped, kFewestRows, kFewestRows / 2));
  }
  return rows;
}

Result<EchoModel> ReadModel(const std::string& folder) {
  const std::string path = FileIn(folder, "xgb_model.json");
  ORRERY_TRY(const std::string text, ReadText(path));
  auto model = EchoModel::Parse(text);
  return model ? std::move(model) : FailWithin(path, model);
}

/// Positions of rows for which `holds`.
template <typename Holds>
std::vector<std::uint32_t> RowsWhere(std::span<const EchoRow> rows,
                                     std::span<const std::uint32_t> of, Holds holds) {
  std::vector<std::uint32_t> found;
  std::ranges::copy_if(of, std::back_inserter(found),
                       [&](std::uint32_t row) { return holds(rows[row]); });
  return found;
}

std::vector<std::uint32_t> AllOf(std::size_t count) {
  std::vector<std::uint32_t> all(count);
  for (std::uint32_t row = 0; row < count; ++row) {
    all[row] = row;
  }
  return all;
}

learn::Evaluation EvaluateDurations(std::span<const EchoRow> rows, std::span<const float> slowdowns,
                                 std::span<const std::uint32_t> of) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const std::uint32_t row : of) {
    predicted.push_back(DurationFrom(rows[row], slowdowns[row]));
    measured.push_back(rows[row].together_ns);
  }
  return learn::Evaluate(predicted, measured);
}

/// 1 - mean square error / variance.
double R2OfSlowdown(std::span<const EchoRow> rows, std::span<const float> slowdowns,
                    std::span<const std::uint32_t> of) {
  std::vector<double> truth;
  for (const std::uint32_t row : of) {
    truth.push_back(rows[row].slowdown);
  }
  const double mean = Mean(truth);
  double residual = 0;
  double spread = 0;
  for (const std::uint32_t row : of) {
    residual += std::pow(rows[row].slowdown - static_cast<double>(slowdowns[row]), 2);
    spread += std::pow(rows[row].slowdown - mean, 2);
  }
  return 1 - residual / spread;
}

FedModel Evaluate(std::string feeding, std::span<const EchoRow> rows, std::span<const float> slowdowns,
               const LegacySplit& split) {
  const auto overlaps = [](const EchoRow& row) { return row.IsOverlapped(); };
  const std::vector<std::uint32_t> overlapped = RowsWhere(rows, AllOf(rows.size()), overlaps);
  return {
      .feeding = std::move(feeding),
      .overlapped = EvaluateDurations(rows, slowdowns, overlapped),
      .held_out = EvaluateDurations(rows, slowdowns, split.test),
      .held_out_overlapped = EvaluateDurations(rows, slowdowns, RowsWhere(rows, split.test, overlaps)),
      .r2_of_slowdown = R2OfSlowdown(rows, slowdowns, overlapped),
      .r2_trained = R2OfSlowdown(rows, slowdowns, split.train),
      .r2_held_out = R2OfSlowdown(rows, slowdowns, split.test)};
}

void FeedModel(const EchoModel& model, EchoEvaluation& evaluation) {
  const LegacySplit split = SplitAsScikitLearn(evaluation.rows.size(), kTestShare, kSplitSeed);
  const Standardisation standard = Standardisation::Of(evaluation.rows, split.train);
  for (const EchoRow& row : evaluation.rows) {
    evaluation.shipped_slowdowns.push_back(model.Predict(row.features));
    evaluation.standardised_slowdowns.push_back(model.Predict(standard.Apply(row.features)));
  }
  evaluation.train_rows = split.train.size();
  evaluation.fed = {
      Evaluate("as shipped", evaluation.rows, evaluation.shipped_slowdowns, split),
      Evaluate("standardised", evaluation.rows, evaluation.standardised_slowdowns, split)};
}

Status ComparePublished(const std::string& folder, EchoEvaluation& evaluation) {
  evaluation.published = PublishedLines(evaluation.rows, evaluation.shipped_slowdowns);
  const std::string path = FileIn(folder, "output_metrics.txt");
  if (!std::filesystem::exists(path)) {
    return {};
  }
  ORRERY_TRY(const std::string text, ReadText(path));
  evaluation.differences = DifferencesFrom(text, evaluation.published);
  return {};
}

HeldOutEvaluation EvaluateOnHeldOut(std::span<const EchoRow> rows, HeldOut held_out,
                              const EchoOptions& options) {
  HeldOutEvaluation evaluation;
  evaluation.held_out = held_out;
  evaluation.validation =
      CrossValidate(rows, PublicClockStep(rows),
                    {.held_out = held_out, .repeats = options.repeats, .threads = options.threads});
  evaluation.summaries = Summarise(rows, evaluation.validation);
  return evaluation;
}

void MeasureNoise(EchoEvaluation& evaluation) {
  const ClockStep step = PublicClockStep(evaluation.rows);
  std::vector<double> ratios;
  for (const EchoRow& row : evaluation.rows) {
    if (!row.IsOverlapped() && !step.Spoils(row)) {
      ratios.push_back(row.together_ns / row.alone_ns);
    }
  }
  evaluation.noise_low = Quantile(ratios, 0.1);
  evaluation.noise_high = Quantile(ratios, 0.9);
}

/// Of the rows that are evaluated.
std::size_t NumSlowdowns(std::span<const EchoRow> rows) {
  const std::vector<Place> places = PlacesOf(rows);
  const ClockStep step = PublicClockStep(rows);
  std::set<std::uint32_t> slowdowns;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!step.Spoils(rows[row])) {
      slowdowns.insert(places[row].slowdown);
    }
  }
  return slowdowns.size();
}

double MeanOfRepeats(const HeldOutPredictions& predictions, std::size_t position) {
  std::vector<double> values;
  for (const std::vector<double>& repeat : predictions.durations_ns) {
    values.push_back(repeat[position]);
  }
  return Mean(values);
}

std::string ColumnName(std::string_view predictor) {
  std::string name(predictor);
  std::ranges::replace(name, ' ', '_');
  std::erase(name, ',');
  return name + "_ns";
}

}  // namespace

Result<EchoEvaluation> EvaluateEcho(const std::string& folder, const EchoOptions& options) {
  EchoEvaluation evaluation;
  ORRERY_TRY(evaluation.rows, ReadRows(folder));
  ORRERY_TRY(const EchoModel model, ReadModel(folder));
  evaluation.num_trees = model.num_trees();
  evaluation.num_nodes = model.num_nodes();
  evaluation.gain_shares = {model.gain_shares().begin(), model.gain_shares().end()};
  FeedModel(model, evaluation);
  ORRERY_TRY_STATUS(ComparePublished(folder, evaluation));
  std::ranges::copy_if(
      evaluation.rows, std::back_inserter(evaluation.left_out),
      [step = PublicClockStep(evaluation.rows)](const EchoRow& row) { return step.Spoils(row); });
  MeasureNoise(evaluation);
  evaluation.num_slowdowns = NumSlowdowns(evaluation.rows);
  evaluation.by_slowdown = EvaluateOnHeldOut(evaluation.rows, HeldOut::kSlowdowns, options);
  evaluation.by_row = EvaluateOnHeldOut(evaluation.rows, HeldOut::kRows, options);
  return evaluation;
}

Table EchoPredictions(const EchoEvaluation& evaluation) {
  Table table;
  table.AddColumn("id", Table::Type::kInteger);
  table.AddColumn("kernel", Table::Type::kText);
  for (const std::string_view column :
       {"alone_ns", "together_ns", "overlap_ratio", "echo_as_shipped_ns", "echo_standardised_ns"}) {
    table.AddColumn(std::string(column), Table::Type::kNumber);
  }
  const CrossValidation& validation = evaluation.by_slowdown.validation;
  for (const HeldOutPredictions& predictions : validation.predictors) {
    table.AddColumn(ColumnName(predictions.predictor), Table::Type::kNumber);
  }
  for (std::size_t row = 0; row < evaluation.rows.size(); ++row) {
    const EchoRow& kernel = evaluation.rows[row];
    table.AddRow();
    table.Set(row, 0, kernel.id);
    table.Set(row, 1, kernel.name);
    table.Set(row, 2, kernel.alone_ns);
    table.Set(row, 3, kernel.together_ns);
    table.Set(row, 4, kernel.overlap_ratio);
    table.Set(row, 5, DurationFrom(kernel, evaluation.shipped_slowdowns[row]));
    table.Set(row, 6, DurationFrom(kernel, evaluation.standardised_slowdowns[row]));
  }
  for (std::size_t position = 0; position < validation.rows.size(); ++position) {
    for (std::size_t predictor = 0; predictor < validation.predictors.size(); ++predictor) {
      table.Set(validation.rows[position], 7 + predictor,
                MeanOfRepeats(validation.predictors[predictor], position));
    }
  }
  return table;
}

}  // namespace orrery::compat::echo
