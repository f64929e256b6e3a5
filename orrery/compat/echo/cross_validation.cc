#include "orrery/compat/echo/cross_validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "orrery/base/parallel.h"
#include "orrery/base/statistics.h"
#include "orrery/learn/random.h"
#include "orrery/compat/echo/shrunken_medians.h"

namespace orrery::compat::echo {
namespace {

constexpr std::array<double, 4> kPriors = {1, 2, 4, 8};
constexpr std::array kSpanKeys = {SpanKey::kTotalTime, SpanKey::kRows, SpanKey::kManyRows,
                                  SpanKey::kLong};
constexpr std::array kPlaceKeys = {PlaceKey::kWholeRows, PlaceKey::kSince};
constexpr std::array<std::string_view, 5> kPredictors = {
    "ours", "ours, one form", "per-name median", "no slowdown", "constant 1.3"};
constexpr double kOverlapsMuch = 0.5;
constexpr double kConstantFactor = 1.3;

using Rows = std::vector<std::uint32_t>;

/// What all folds share.
struct Setting {
  std::span<const EchoRow> rows;
  std::vector<double> log_ratios;
  std::vector<std::uint32_t> group_of_row;  // held out together
  std::vector<Ladder> ladders;
  std::vector<Form> forms;
};

std::vector<Ladder> AllLadders(std::span<const EchoRow> rows, std::span<const Place> places) {
  std::vector<Ladder> ladders = {MakeLadder(rows, places, SpanKey::kNone, PlaceKey::kSince)};
  for (const SpanKey span : kSpanKeys) {
    for (const PlaceKey place : kPlaceKeys) {
      ladders.push_back(MakeLadder(rows, places, span, place));
    }
  }
  return ladders;
}

Setting MakeSetting(std::span<const EchoRow> rows, HeldOut held_out) {
  const std::vector<Place> places = PlacesOf(rows);
  Setting setting;
  setting.rows = rows;
  setting.ladders = AllLadders(rows, places);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    setting.log_ratios.push_back(std::log(rows[row].together_ns / rows[row].alone_ns));
    setting.group_of_row.push_back(
        held_out == HeldOut::kSlowdowns ? places[row].slowdown : static_cast<std::uint32_t>(row));
  }
  for (const Ladder& ladder : setting.ladders) {
    for (const double prior : kPriors) {
      setting.forms.push_back({.ladder = &ladder, .prior = prior});
    }
  }
  return setting;
}

/// Deals the groups of some rows to folds; returns the rows of each.
std::vector<Rows> DealFolds(const Setting& setting, const Rows& rows, std::size_t folds,
                            std::uint64_t seed) {
  Rows groups;
  for (const std::uint32_t row : rows) {
    groups.push_back(setting.group_of_row[row]);
  }
  std::ranges::sort(groups);
  groups.erase(std::ranges::unique(groups).begin(), groups.end());
  learn::Random random(seed);
  random.Shuffle(std::span(groups));
  std::map<std::uint32_t, std::size_t> fold_of_group;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    fold_of_group[groups[i]] = i % folds;
  }
  std::vector<Rows> dealt(folds);
  for (const std::uint32_t row : rows) {
    dealt[fold_of_group[setting.group_of_row[row]]].push_back(row);
  }
  return dealt;
}

/// Both are in order.
Rows Without(const Rows& rows, const Rows& left_out) {
  Rows rest;
  std::ranges::set_difference(rows, left_out, std::back_inserter(rest));
  return rest;
}

double AbsoluteError(const Setting& setting, std::uint32_t row, double log_ratio) {
  return std::abs(std::exp(log_ratio - setting.log_ratios[row]) - 1);
}

double InnerError(const Setting& setting, const Form& form, const Rows& train,
                  const std::vector<Rows>& folds) {
  double error = 0;
  for (const Rows& fold : folds) {
    ShrunkenMedians model({&form, 1}, setting.log_ratios, Without(train, fold));
    for (const std::uint32_t row : fold) {
      error += AbsoluteError(setting, row, model.Predict(row));
    }
  }
  return error;
}

Form ChooseForm(const Setting& setting, const Rows& train, std::size_t num_folds,
                std::uint64_t seed) {
  const std::vector<Rows> folds = DealFolds(setting, train, num_folds, seed);
  Form best;
  double least = std::numeric_limits<double>::infinity();
  for (const Form& form : setting.forms) {
    const double error = InnerError(setting, form, train, folds);
    if (error < least) {
      least = error;
      best = form;
    }
  }
  return best;
}

/// Medians of ln(together / alone) by kernel name and whether more than half of it is overlapped;
/// for names that were not seen, by the latter alone.
class NameMedians {
 public:
  NameMedians(const Setting& setting, const Rows& train) : rows_(setting.rows) {
    std::map<Key, std::vector<double>> values;
    for (const std::uint32_t row : train) {
      values[KeyOf(row)].push_back(setting.log_ratios[row]);
      values[AnyName(row)].push_back(setting.log_ratios[row]);
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

  std::span<const EchoRow> rows_;
  std::map<Key, double> medians_;
};

double ConstantLogRatio(const EchoRow& row) {
  return std::log(1 + row.overlap_ratio * (kConstantFactor - 1));
}

/// Predictions of all predictors for one repeat: [predictor][table row].
using Repeat = std::array<std::vector<double>, kPredictors.size()>;

void PredictFold(const Setting& setting, const Rows& train, const Rows& test, const Form& chosen,
                 Repeat& repeat) {
  ShrunkenMedians ours(setting.forms, setting.log_ratios, train);
  ShrunkenMedians one_form({&chosen, 1}, setting.log_ratios, train);
  const NameMedians name_medians(setting, train);
  for (const std::uint32_t row : test) {
    const EchoRow& kernel = setting.rows[row];
    const std::array<double, kPredictors.size()> log_ratios = {
        ours.Predict(row), one_form.Predict(row), name_medians.Predict(row), 0,
        ConstantLogRatio(kernel)};
    for (std::size_t predictor = 0; predictor < kPredictors.size(); ++predictor) {
      repeat[predictor][row] = kernel.alone_ns * std::exp(log_ratios[predictor]);
    }
  }
}

Repeat RunRepeat(const Setting& setting, const Rows& evaluated, std::size_t num_folds,
                 std::uint64_t seed) {
  Repeat repeat;
  repeat.fill(std::vector<double>(setting.rows.size(), 0.0));
  const std::vector<Rows> folds = DealFolds(setting, evaluated, num_folds, seed);
  for (std::size_t fold = 0; fold < folds.size(); ++fold) {
    const Rows train = Without(evaluated, folds[fold]);
    const Form chosen = ChooseForm(setting, train, num_folds, learn::MixBits(seed + fold + 1));
    PredictFold(setting, train, folds[fold], chosen, repeat);
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
  return (1 + kSpanKeys.size() * kPlaceKeys.size()) * kPriors.size();
}

CrossValidation CrossValidate(std::span<const EchoRow> rows, const ClockStep& clock_step,
                              const CrossValidationOptions& options) {
  const Setting setting = MakeSetting(rows, options.held_out);
  CrossValidation result;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    if (!clock_step.Spoils(rows[row])) {
      result.rows.push_back(row);
    }
  }
  std::vector<Repeat> repeats(options.repeats);
  ParallelFor(options.repeats, options.threads, [&](std::size_t repeat) {
    repeats[repeat] = RunRepeat(setting, result.rows, options.folds,
                                learn::MixBits(options.seed * 1'000 + repeat));
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
