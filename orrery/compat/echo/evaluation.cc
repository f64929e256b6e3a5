#include "orrery/compat/echo/evaluation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/table.h"
#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/published.h"
#include "orrery/compat/echo/rows.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/metrics.h"
#include "orrery/workload/input.h"

namespace orrery::compat::echo {
namespace {

constexpr std::size_t kDraws = 10'000;
constexpr std::uint64_t kSeed = 20'241;
constexpr std::string_view kReference = "per-name median";

std::vector<double> Pick(std::span<const double> values, std::span<const std::size_t> positions) {
  std::vector<double> picked;
  for (const std::size_t position : positions) {
    picked.push_back(values[position]);
  }
  return picked;
}

/// The sum of differences in a segment, and its number of rows.
struct SegmentSum {
  double sum = 0;
  double rows = 0;
};

Difference DifferenceOf(std::span<const double> differences,
                        std::span<const std::uint32_t> segment_of) {
  std::map<std::uint32_t, SegmentSum> by_segment;
  for (std::size_t row = 0; row < differences.size(); ++row) {
    by_segment[segment_of[row]].sum += differences[row];
    by_segment[segment_of[row]].rows += 1;
  }
  std::vector<SegmentSum> segments;
  for (const auto& [segment, sum] : by_segment) {
    segments.push_back(sum);
  }
  learn::Random random(kSeed);
  std::vector<double> means(kDraws);
  for (double& mean : means) {
    SegmentSum drawn;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const SegmentSum& segment = segments[random.Below(segments.size())];
      drawn.sum += segment.sum;
      drawn.rows += segment.rows;
    }
    mean = drawn.sum / drawn.rows;
  }
  return {.mean = Mean(differences),
          .low = Quantile(means, 0.025),
          .high = Quantile(means, 0.975),
          .low_99 = Quantile(means, 0.005),
          .high_99 = Quantile(means, 0.995)};
}

/// Fields that are means over repeats, with their source.
struct SummaryField {
  double PredictorSummary::* mean;
  double learn::Evaluation::* figure;
  bool is_of_all = false;  // else of the overlapped rows
};

constexpr SummaryField kSummaryFields[] = {
    {&PredictorSummary::mape, &learn::Evaluation::mape},
    {&PredictorSummary::within_5, &learn::Evaluation::within_5},
    {&PredictorSummary::within_10, &learn::Evaluation::within_10},
    {&PredictorSummary::within_15, &learn::Evaluation::within_15},
    {&PredictorSummary::r2_of_logs, &learn::Evaluation::r2_of_logs},
    {&PredictorSummary::mape_all, &learn::Evaluation::mape, true},
    {&PredictorSummary::total, &learn::Evaluation::error_of_sum, true},
    {&PredictorSummary::total_overlapped, &learn::Evaluation::error_of_sum}};

PredictorSummary MeansOf(const HeldOutPredictions& predictions,
                         std::span<const std::size_t> overlapped,
                         std::span<const double> measured) {
  const std::vector<double> measured_overlapped = Pick(measured, overlapped);
  PredictorSummary means{.predictor = predictions.predictor};
  for (const std::vector<double>& repeat : predictions.durations_ns) {
    const learn::Evaluation of_overlapped =
        learn::Evaluate(Pick(repeat, overlapped), measured_overlapped);
    const learn::Evaluation of_all = learn::Evaluate(repeat, measured);
    for (const SummaryField& field : kSummaryFields) {
      means.*field.mean += (field.is_of_all ? of_all : of_overlapped).*field.figure;
    }
  }
  for (const SummaryField& field : kSummaryFields) {
    means.*field.mean /= static_cast<double>(predictions.durations_ns.size());
  }
  return means;
}

constexpr double kTestShare = 0.2;
constexpr std::uint32_t kSplitSeed = 42;
constexpr std::size_t kFewestRows = 50;

std::string FileIn(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

Result<std::vector<KernelRow>> ReadUsableRows(const std::string& folder) {
  const std::string path = FileIn(folder, "merged_features.csv");
  ORRERY_TRY(const Table table, ReadCsvFile(path));
  auto rows = ReadRows(table);
  if (!rows) {
    return FailWithin(path, rows);
  }
  const ClockStep step = PublicClockStep(*rows);
  const auto usable =
      std::ranges::count_if(*rows, [&](const KernelRow& row) { return !step.Affects(row); });
  const auto overlapped = std::ranges::count_if(
      *rows, [&](const KernelRow& row) { return !step.Affects(row) && row.IsOverlapped(); });
  if (static_cast<std::size_t>(usable) < kFewestRows ||
      static_cast<std::size_t>(overlapped) < kFewestRows / 2) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("{}: {} rows, of which {} overlap, are too few to evaluate; at least {} and "
                    "{} are needed",
                    path, usable, overlapped, kFewestRows, kFewestRows / 2));
  }
  return rows;
}

Result<SlowdownModel> ReadModel(const std::string& folder) {
  const std::string path = FileIn(folder, "xgb_model.json");
  ORRERY_TRY(const std::string text, workload::ReadUnpackedFile(path));
  auto model = SlowdownModel::Parse(text);
  return model ? std::move(model) : FailWithin(path, model);
}

std::vector<std::uint32_t> OverlappedRows(std::span<const KernelRow> rows,
                                          std::span<const std::uint32_t> of) {
  std::vector<std::uint32_t> found;
  std::ranges::copy_if(of, std::back_inserter(found),
                       [&](std::uint32_t row) { return rows[row].IsOverlapped(); });
  return found;
}

learn::Evaluation EvaluateDurations(std::span<const KernelRow> rows,
                                    std::span<const float> slowdowns,
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
double R2OfSlowdown(std::span<const KernelRow> rows, std::span<const float> slowdowns,
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

ModelEvaluation Evaluate(std::string input, std::span<const KernelRow> rows,
                         std::span<const float> slowdowns, const LegacySplit& split) {
  std::vector<std::uint32_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0U);
  const std::vector<std::uint32_t> overlapped = OverlappedRows(rows, all);
  return {
      .input = std::move(input),
      .overlapped = EvaluateDurations(rows, slowdowns, overlapped),
      .held_out = EvaluateDurations(rows, slowdowns, split.test),
      .held_out_overlapped = EvaluateDurations(rows, slowdowns, OverlappedRows(rows, split.test)),
      .r2_of_slowdown = R2OfSlowdown(rows, slowdowns, overlapped),
      .r2_trained = R2OfSlowdown(rows, slowdowns, split.train),
      .r2_held_out = R2OfSlowdown(rows, slowdowns, split.test)};
}

Status ComparePublished(const std::string& folder, Evaluation& evaluation) {
  evaluation.published = PublishedLines(evaluation.rows, evaluation.shipped_slowdowns);
  const std::string path = FileIn(folder, "output_metrics.txt");
  if (std::error_code ignored; !std::filesystem::exists(path, ignored)) {
    return {};
  }
  ORRERY_TRY(const std::string text, workload::ReadUnpackedFile(path));
  evaluation.differences = DifferencesFrom(text, evaluation.published);
  return {};
}

HeldOutEvaluation EvaluateHeldOut(std::span<const KernelRow> rows, HeldOut held_out,
                                  const EvaluationOptions& options) {
  HeldOutEvaluation evaluation;
  evaluation.held_out = held_out;
  evaluation.validation =
      CrossValidate(rows, PublicClockStep(rows),
                    {.held_out = held_out, .repeats = options.repeats, .threads = options.threads});
  evaluation.summaries = Summarise(rows, evaluation.validation);
  return evaluation;
}

}  // namespace

std::vector<PredictorSummary> Summarise(std::span<const KernelRow> rows,
                                        const CrossValidation& validation) {
  const std::vector<Position> positions = PositionsOf(rows);
  // Positions in CrossValidation::rows.
  std::vector<std::size_t> overlapped;
  for (std::size_t position = 0; position < validation.rows.size(); ++position) {
    if (rows[validation.rows[position]].IsOverlapped()) {
      overlapped.push_back(position);
    }
  }
  std::vector<double> measured;
  for (const std::uint32_t row : validation.rows) {
    measured.push_back(rows[row].together_ns);
  }
  std::vector<std::uint32_t> segment_of;
  for (const std::size_t position : overlapped) {
    segment_of.push_back(positions[validation.rows[position]].segment);
  }
  std::vector<PredictorSummary> summaries;
  std::vector<std::vector<double>> errors;
  std::size_t reference = 0;
  for (const HeldOutPredictions& predictions : validation.predictors) {
    reference = predictions.predictor == kReference ? summaries.size() : reference;
    summaries.push_back(MeansOf(predictions, overlapped, measured));
    // |error| of each row in percent, mean over the repeats.
    std::vector<double> row_errors(measured.size(), 0.0);
    for (const std::vector<double>& repeat : predictions.durations_ns) {
      for (std::size_t row = 0; row < measured.size(); ++row) {
        row_errors[row] += std::abs(repeat[row] / measured[row] - 1) * 100;
      }
    }
    for (double& error : row_errors) {
      error /= static_cast<double>(predictions.durations_ns.size());
    }
    errors.push_back(Pick(row_errors, overlapped));
  }
  for (std::size_t predictor = 0; predictor < summaries.size(); ++predictor) {
    std::vector<double> differences = errors[predictor];
    for (std::size_t row = 0; row < differences.size(); ++row) {
      differences[row] -= errors[reference][row];
    }
    summaries[predictor].from_median = DifferenceOf(differences, segment_of);
  }
  return summaries;
}

Result<Evaluation> EvaluateFolder(const std::string& folder, const EvaluationOptions& options) {
  Evaluation evaluation;
  ORRERY_TRY(evaluation.rows, ReadUsableRows(folder));
  ORRERY_TRY(const SlowdownModel model, ReadModel(folder));
  evaluation.num_trees = model.num_trees();
  evaluation.num_nodes = model.num_nodes();
  evaluation.gain_shares = {model.gain_shares().begin(), model.gain_shares().end()};
  const LegacySplit split = SplitAsScikitLearn(evaluation.rows.size(), kTestShare, kSplitSeed);
  const Standardisation standard = Standardisation::Of(evaluation.rows, split.train);
  for (const KernelRow& row : evaluation.rows) {
    evaluation.shipped_slowdowns.push_back(model.Predict(row.features));
    evaluation.standardised_slowdowns.push_back(model.Predict(standard.Apply(row.features)));
  }
  evaluation.train_rows = split.train.size();
  evaluation.fed = {
      Evaluate("as shipped", evaluation.rows, evaluation.shipped_slowdowns, split),
      Evaluate("standardised", evaluation.rows, evaluation.standardised_slowdowns, split)};
  ORRERY_TRY_STATUS(ComparePublished(folder, evaluation));
  const ClockStep step = PublicClockStep(evaluation.rows);
  std::ranges::copy_if(evaluation.rows, std::back_inserter(evaluation.left_out),
                       [&](const KernelRow& row) { return step.Affects(row); });
  std::vector<double> ratios;
  for (const KernelRow& row : evaluation.rows) {
    if (!row.IsOverlapped() && !step.Affects(row)) {
      ratios.push_back(row.together_ns / row.alone_ns);
    }
  }
  evaluation.noise_low = Quantile(ratios, 0.1);
  evaluation.noise_high = Quantile(ratios, 0.9);
  // Of the rows that are evaluated.
  const std::vector<Position> positions = PositionsOf(evaluation.rows);
  std::set<std::uint32_t> segments;
  for (std::size_t row = 0; row < evaluation.rows.size(); ++row) {
    if (!step.Affects(evaluation.rows[row])) {
      segments.insert(positions[row].segment);
    }
  }
  evaluation.num_segments = segments.size();
  evaluation.by_segment = EvaluateHeldOut(evaluation.rows, HeldOut::kSegments, options);
  evaluation.by_row = EvaluateHeldOut(evaluation.rows, HeldOut::kRows, options);
  return evaluation;
}

Table PredictionTable(const Evaluation& evaluation) {
  Table table;
  table.AddColumn("id", Table::Type::kInteger);
  table.AddColumn("kernel", Table::Type::kText);
  for (const std::string_view column :
       {"alone_ns", "together_ns", "overlap_ratio", "echo_as_shipped_ns", "echo_standardised_ns"}) {
    table.AddColumn(std::string(column), Table::Type::kNumber);
  }
  const CrossValidation& validation = evaluation.by_segment.validation;
  for (const HeldOutPredictions& predictions : validation.predictors) {
    std::string name(predictions.predictor);
    std::ranges::replace(name, ' ', '_');
    std::erase(name, ',');
    table.AddColumn(name + "_ns", Table::Type::kNumber);
  }
  for (std::size_t row = 0; row < evaluation.rows.size(); ++row) {
    const KernelRow& kernel = evaluation.rows[row];
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
      std::vector<double> values;
      for (const std::vector<double>& repeat : validation.predictors[predictor].durations_ns) {
        values.push_back(repeat[position]);
      }
      table.Set(validation.rows[position], 7 + predictor, Mean(values));
    }
  }
  return table;
}

}  // namespace orrery::compat::echo
