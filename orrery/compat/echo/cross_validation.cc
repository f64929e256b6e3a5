#include "orrery/compat/echo/cross_validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/statistics.h"
#include "orrery/compat/echo/rows.h"
#include "orrery/learn/data_set.h"

namespace orrery::compat::echo {
namespace {

// The property of the span of communication that a key contains.
enum class SpanKey : std::uint8_t { kNone, kTotalTime, kRows, kManyRows, kLong };

// The measure of the position within a span.
enum class PositionKey : std::uint8_t { kWholeRows, kSince };

using Key = std::vector<std::int64_t>;

constexpr double kHalf = 0.5;
constexpr double kWhole = 0.99;
constexpr double kLongSpanNs = 1.5e6;
constexpr std::uint32_t kManyRows = 12;
constexpr std::uint32_t kMostWholeRows = 8;
// Positions within a span are distinguished from 30 us on.
constexpr double kShortestNs = 30'000;

std::int64_t Octave(double value) {
  return std::lround(std::log2(value));
}

std::int64_t OverlapClass(double ratio) {
  if (ratio == 0) {
    return 0;
  }
  return ratio < kHalf ? 1 : ratio < kWhole ? 2 : 3;
}

std::int64_t SpanValue(const Position& place, SpanKey key) {
  switch (key) {
    case SpanKey::kNone:
      return 0;
    case SpanKey::kTotalTime:
      return Octave(std::max(place.span_ns, 1'000.0));
    case SpanKey::kRows:
      return std::min(place.rows_of_span, 20U) / 3;
    case SpanKey::kManyRows:
      return place.rows_of_span > kManyRows ? 1 : 0;
    case SpanKey::kLong:
      return place.span_ns > kLongSpanNs ? 1 : 0;
  }
  return 0;
}

/// Numbers the distinct keys in order of appearance.
std::vector<std::uint32_t> Number(const std::vector<Key>& keys, std::size_t length) {
  std::map<Key, std::uint32_t> numbers;
  std::vector<std::uint32_t> cells;
  for (const Key& key : keys) {
    const Key head(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(length));
    cells.push_back(
        numbers.emplace(head, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return cells;
}

// Cells by (name, overlap in four classes, octave of the time alone, span, position), then without
// the position, without the span, and by name and overlap only. Without a span key the first two
// levels are left out.
Binning MakeBinning(std::span<const KernelRow> rows, std::span<const Position> positions,
                    SpanKey span, PositionKey place) {
  std::map<std::string_view, std::int64_t> names;
  std::vector<Key> keys;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const KernelRow& kernel = rows[row];
    const std::int64_t name =
        names.emplace(kernel.name, static_cast<std::int64_t>(names.size())).first->second;
    const bool is_over = kernel.IsOverlapped();
    keys.push_back({name, OverlapClass(kernel.overlap_ratio), Octave(kernel.alone_ns),
                    is_over ? SpanValue(positions[row], span) : 0,
                    is_over ? (place == PositionKey::kWholeRows
                                   ? std::min(positions[row].whole_so_far, kMostWholeRows)
                                   : Octave(positions[row].since_ns + kShortestNs))
                            : 0});
  }
  Binning binning;
  if (span != SpanKey::kNone) {
    binning.cell_of_row = {Number(keys, 5), Number(keys, 4)};
  }
  binning.cell_of_row.push_back(Number(keys, 3));
  binning.cell_of_row.push_back(Number(keys, 2));
  return binning;
}

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

FoldData MakeFoldData(std::span<const KernelRow> rows, HeldOut held_out) {
  const std::vector<Position> positions = PositionsOf(rows);
  FoldData data;
  data.rows = rows;
  data.binnings = {MakeBinning(rows, positions, SpanKey::kNone, PositionKey::kSince)};
  for (const SpanKey span : kSpanKeys) {
    for (const PositionKey place : kPositionKeys) {
      data.binnings.push_back(MakeBinning(rows, positions, span, place));
    }
  }
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

Form ChooseForm(const FoldData& data, const Rows& train, std::size_t num_folds,
                std::uint64_t seed) {
  const std::vector<Rows> folds = SplitIntoFolds(data, train, num_folds, seed);
  Form best;
  double least = std::numeric_limits<double>::infinity();
  for (const Form& form : data.forms) {
    double error = 0;
    for (const Rows& fold : folds) {
      ShrunkenMedians model({&form, 1}, data.log_ratios, Without(train, fold));
      for (const std::uint32_t row : fold) {
        error += std::abs(std::exp(model.Predict(row) - data.log_ratios[row]) - 1);
      }
    }
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
        std::log(1 + kernel.overlap_ratio * (kConstantFactor - 1))};
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
      std::vector<double> picked;
      for (const std::uint32_t row : result.rows) {
        picked.push_back(repeat[predictor][row]);
      }
      predictions.durations_ns.push_back(picked);
    }
    result.predictors.push_back(std::move(predictions));
  }
  return result;
}

ShrunkenMedians::ShrunkenMedians(std::span<const Form> forms, std::span<const double> log_ratios,
                                 std::span<const std::uint32_t> train)
    : forms_(forms.begin(), forms.end()),
      log_ratios_(log_ratios),
      train_(train.begin(), train.end()) {
  std::ranges::stable_sort(
      train_, [&](std::uint32_t a, std::uint32_t b) { return log_ratios_[a] < log_ratios_[b]; });
  for (const Form& form : forms_) {
    std::vector<std::vector<std::uint32_t>>& counts = num_rows_.emplace_back();
    for (const std::vector<std::uint32_t>& cells : form.binning->cell_of_row) {
      counts.emplace_back(*std::ranges::max_element(cells) + 1, 0U);
      for (const std::uint32_t row : train_) {
        ++counts.back()[cells[row]];
      }
    }
  }
}

double ShrunkenMedians::Predict(std::uint32_t row) {
  std::vector<std::uint32_t> narrowest;
  for (const Form& form : forms_) {
    narrowest.push_back(form.binning->cell_of_row.front()[row]);
  }
  const auto [found, is_new] = of_narrowest_.emplace(std::move(narrowest), 0.0);
  if (is_new) {
    found->second = MedianOf(row);
  }
  return found->second;
}

/// The weight of a row of each cell from the narrowest to the widest.
std::vector<double> ShrunkenMedians::SharesOf(std::size_t form, std::uint32_t row) const {
  const std::vector<std::vector<std::uint32_t>>& levels = num_rows_[form];
  std::vector<double> shares;
  double left = 1;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const double count = levels[level][forms_[form].binning->cell_of_row[level][row]];
    const bool is_widest = level + 1 == levels.size();
    const double share = is_widest ? left : left * count / (count + forms_[form].prior);
    shares.push_back(count > 0 ? share / count : 0);
    left -= count > 0 ? share : 0;
  }
  return shares;
}

/// The weight of each row of `train_` for `row`.
std::vector<double> ShrunkenMedians::WeightsFor(std::uint32_t row) const {
  std::vector<double> weights(train_.size(), 0.0);
  for (std::size_t form = 0; form < forms_.size(); ++form) {
    const std::vector<double> shares = SharesOf(form, row);
    for (std::size_t level = 0; level < shares.size(); ++level) {
      const std::vector<std::uint32_t>& cells = forms_[form].binning->cell_of_row[level];
      for (std::size_t other = 0; other < train_.size(); ++other) {
        weights[other] += cells[train_[other]] == cells[row] ? shares[level] : 0;
      }
    }
  }
  return weights;
}

double ShrunkenMedians::MedianOf(std::uint32_t row) const {
  std::vector<double> weights = WeightsFor(row);
  double total = 0;
  for (std::size_t other = 0; other < train_.size(); ++other) {
    weights[other] *= std::exp(-log_ratios_[train_[other]]);
    total += weights[other];
  }
  double sum = 0;
  for (std::size_t other = 0; other < train_.size() && total > 0; ++other) {
    sum += weights[other];
    if (sum >= total / 2) {
      return log_ratios_[train_[other]];
    }
  }
  return 0;
}

}  // namespace orrery::compat::echo
