#include "orrery/compat/echo/shrunken_medians.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace orrery::compat::echo {
namespace {

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

std::int64_t PositionValue(const Position& place, PositionKey key) {
  return key == PositionKey::kWholeRows ? std::min(place.whole_so_far, kMostWholeRows)
                                        : Octave(place.since_ns + kShortestNs);
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

std::vector<Key> KeysOf(std::span<const KernelRow> rows, std::span<const Position> positions,
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
                    is_over ? PositionValue(positions[row], place) : 0});
  }
  return keys;
}

}  // namespace

Binning MakeBinning(std::span<const KernelRow> rows, std::span<const Position> positions,
                    SpanKey span, PositionKey place) {
  const std::vector<Key> keys = KeysOf(rows, positions, span, place);
  Binning binning;
  if (span != SpanKey::kNone) {
    binning.cell_of_row = {Number(keys, 5), Number(keys, 4)};
  }
  binning.cell_of_row.push_back(Number(keys, 3));
  binning.cell_of_row.push_back(Number(keys, 2));
  return binning;
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
