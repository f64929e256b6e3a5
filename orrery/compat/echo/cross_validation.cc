#include "orrery/compat/echo/cross_validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "orrery/base/parallel.h"
#include "orrery/base/statistics.h"
#include "orrery/compat/echo/shrunken_medians.h"
#include "orrery/learn/random.h"

namespace orrery::compat::echo {
namespace {

constexpr std::array<double, 4> kPriors = {1, 2, 4, 8};
constexpr std::array kSpanKeys = {SpanKey::kTotalTime, SpanKey::kRows, SpanKey::kManyRows,
                                  SpanKey::kLong};
constexpr std::array kPositionKeys = {PositionKey::kWholeRows, PositionKey::kSince};
constexpr std::array<std::string_view, 5> kPredictors = {
    "ours", "ours, one form", "per-name median", "no slowdown", "constant 1.3"};
constexpr double kOverlapsMuch = 0.5;
constexpr double kConstantFactor = 1.3;

using Rows = std::vector<std::uint32_t>;

/// The data that all folds share.
struct FoldData {
  std::span<const KernelRow> rows;
  std::vector<double> log_ratios;
  std::vector<std::uint32_t> group_of_row;  // held out together
  std::vector<Binning> binnings;
  std::vector<Form> forms;
};

std::vector<Binning> AllBinnings(std::span<const KernelRow> rows,
                                 std::span<const Position> positions) {
  std::vector<Binning> binnings = {
      MakeBinning(rows, positions, SpanKey::kNone, PositionKey::kSince)};
  for (const SpanKey span : kSpanKeys) {
    for (const PositionKey place : kPositionKeys) {
      binnings.push_back(MakeBinning(rows, positions, span, place));
    }
  }
  return binnings;
}

FoldData MakeFoldData(std::span<const KernelRow> rows, HeldOut held_out) {
  const std::vector<Position> positions = PositionsOf(rows);
  FoldData data;
  data.rows = rows;
  data.binnings = AllBinnings(rows, positions);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    data.log_ratios.push_back(std::log(rows[row].together_ns / rows[row].alone_ns));
    data.group_of_row.push_back(held_out == HeldOut::kSegments ? positions[row].segment
                                                               : static_cast<std::uint32_t>(row));
  }
  for (const Binning& binning : data.binnings) {
    for (const double prior : kPriors) {
      data.forms.push_back({.binning = &binning, .prior = prior});
    }
  }
  return data;
}

/// Assigns the groups of some rows to random folds; returns the rows of each fold.
std::vector<Rows> SplitIntoFolds(const FoldData& data, const Rows& rows, std::size_t folds,
                                 std::uint64_t seed) {
  Rows groups;
  for (const std::uint32_t row : rows) {
    groups.push_back(data.group_of_row[row]);
  }
  std::ranges::sort(groups);
  groups.erase(std::ranges::unique(groups).begin(), groups.end());
  learn::Random random(seed);
  random.Shuffle(std::span(groups));
  std::map<std::uint32_t, std::size_t> fold_of_group;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    fold_of_group[groups[i]] = i % folds;
  }
  std::vector<Rows> rows_of_fold(folds);
  for (const std::uint32_t row : rows) {
    rows_of_fold[fold_of_group[data.group_of_row[row]]].push_back(row);
  }
  return rows_of_fold;
}

/// Both are sorted.
Rows Without(const Rows& rows, const Rows& left_out) {
  Rows rest;
  std::ranges::set_difference(rows, left_out, std::back_inserter(rest));
  return rest;
}

double AbsoluteError(const FoldData& data, std::uint32_t row, double log_ratio) {
  return std::abs(std::exp(log_ratio - data.log_ratios[row]) - 1);
}

double InnerError(const FoldData& data, const Form& form, const Rows& train,
                  const std::vector<Rows>& folds) {
  double error = 0;
  for (const Rows& fold : folds) {
    ShrunkenMedians model({&form, 1}, data.log_ratios, Without(train, fold));
    for (const std::uint32_t row : fold) {
      error += AbsoluteError(data, row, model.Predict(row));
    }
  }
  return error;
}

Form ChooseForm(const FoldData& data, const Rows& train, std::size_t num_folds,
                std::uint64_t seed) {
  const std::vector<Rows> folds = SplitIntoFolds(data, train, num_folds, seed);
  Form best;
  double least = std::numeric_limits<double>::infinity();
  for (const Form& form : data.forms) {
    const double error = InnerError(data, form, train, folds);
    if (error < least) {
      least = error;
      best = form;
    }
  }
  return best;
}

/// Medians of ln(together / alone) by kernel name and whether more than half of it is overlapped;
/// for unknown names, by the overlap only.
class NameMedians {
 public:
  NameMedians(const FoldData& data, const Rows& train) : rows_(data.rows) {
    std::map<Key, std::vector<double>> values;
    for (const std::uint32_t row : train) {
      values[KeyOf(row)].push_back(data.log_ratios[row]);
      values[AnyName(row)].push_back(data.log_ratios[row]);
    }
    for (const auto& [key, of_key] : values) {
      medians_[key] = Median(of_key);
    }
  }

  [[nodiscard]] double Predict(std::uint32_t row) const {
    for (const Key& key : {KeyOf(row), AnyName(row)}) {
      if (const auto found = medians_.find(key); found != medians_.end()) {
        return found->second;
      }
    }
    return 0;
  }

 private:
  using Key = std::pair<std::string_view, bool>;

  [[nodiscard]] Key KeyOf(std::uint32_t row) const {
    return {rows_[row].name, rows_[row].overlap_ratio > kOverlapsMuch};
  }

  [[nodiscard]] Key AnyName(std::uint32_t row) const { return {"", KeyOf(row).second}; }

  std::span<const KernelRow> rows_;
  std::map<Key, double> medians_;
};

double ConstantLogRatio(const KernelRow& row) {
  return std::log(1 + row.overlap_ratio * (kConstantFactor - 1));
}

/// Predictions of all predictors for one repeat: [predictor][table row].
using Repeat = std::array<std::vector<double>, kPredictors.size()>;

void PredictFold(const FoldData& data, const Rows& train, const Rows& test, const Form& chosen,
                 Repeat& repeat) {
  ShrunkenMedians ours(data.forms, data.log_ratios, train);
  ShrunkenMedians one_form({&chosen, 1}, data.log_ratios, train);
  const NameMedians name_medians(data, train);
  for (const std::uint32_t row : test) {
    const KernelRow& kernel = data.rows[row];
    const std::array<double, kPredictors.size()> log_ratios = {
        ours.Predict(row), one_form.Predict(row), name_medians.Predict(row), 0,
        ConstantLogRatio(kernel)};
    for (std::size_t predictor = 0; predictor < kPredictors.size(); ++predictor) {
      repeat[predictor][row] = kernel.alone_ns * std::exp(log_ratios[predictor]);
    }
  }
}

Repeat RunRepeat(const FoldData& data, const Rows& evaluated, std::size_t num_folds,
                 std::uint64_t seed) {
  Repeat repeat;
  repeat.fill(std::vector<double>(data.rows.size(), 0.0));
  const std::vector<Rows> folds = SplitIntoFolds(data, evaluated, num_folds, seed);
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    const Rows train = Without(evaluated, folds[fold]);
    const Form chosen = ChooseForm(data, train, num_folds, learn::MixBits(seed + fold + 1));
    PredictFold(data, train, folds[fold], chosen, repeat);
  }
  return repeat;
}

std::vector<double> OfRows(const std::vector<double>& values, const Rows& rows) {
  std::vector<double> picked;
  for (const std::uint32_t row : rows) {
    picked.push_back(values[row]);
  }
  return picked;
}

}  // namespace

std::span<const std::string_view> PredictorNames() {
  return kPredictors;
}

std::size_t NumForms() {
  return (1 + kSpanKeys.size() * kPositionKeys.size()) * kPriors.size();
}

CrossValidation CrossValidate(std::span<const KernelRow> rows, const ClockStep& clock_step,
                              const CrossValidationOptions& options) {
  const FoldData data = MakeFoldData(rows, options.held_out);
  CrossValidation result;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    if (!clock_step.Affects(rows[row])) {
      result.rows.push_back(row);
    }
  }
  std::vector<Repeat> repeats(options.repeats);
  ParallelFor(options.repeats, options.threads, [&](std::size_t repeat) {
    repeats[repeat] =
        RunRepeat(data, result.rows, options.folds, learn::MixBits(options.seed * 1'000 + repeat));
  });
  for (std::size_t predictor = 0; predictor < kPredictors.size(); ++predictor) {
    HeldOutPredictions predictions{.predictor = std::string(kPredictors[predictor]),
                                   .durations_ns = {}};
    for (const Repeat& repeat : repeats) {
      predictions.durations_ns.push_back(OfRows(repeat[predictor], result.rows));
    }
    result.predictors.push_back(std::move(predictions));
  }
  return result;
}

}  // namespace orrery::compat::echo
