#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "orrery/compat/echo/rows.h"

namespace orrery::compat::echo {

/// Rows sorted into cells at several levels, the narrowest cells first.
struct Binning {
  std::vector<std::vector<std::uint32_t>> cell_of_row;  // [level][row]
};

/// The property of the span of communication that a key contains.
enum class SpanKey : std::uint8_t { kNone, kTotalTime, kRows, kManyRows, kLong };

/// The measure of the position within a span.
enum class PositionKey : std::uint8_t { kWholeRows, kSince };

/// Cells by (name, overlap in four classes, octave of the time alone, span, position), then without
/// the position, without the span, and by name and overlap only. Without a span key the first two
/// levels are left out.
[[nodiscard]] Binning MakeBinning(std::span<const KernelRow> rows,
                                  std::span<const Position> positions, SpanKey span,
                                  PositionKey place);

/// A binning and the weight of the next wider cell, in rows.
struct Form {
  const Binning* binning = nullptr;
  double prior = 1;
};

/// Predicts ln(together / alone) as the value with the least mean |error| of the duration: the
/// median of the rows in a cell, each weighted by alone / together, since that is the cost of an
/// error of the ratio there. A cell is shrunk towards the next wider one, as if it had `prior`
/// more rows distributed like those of the wider cell, so that a single outlier does not determine
/// its cell. Several forms have equal weights before the median is taken.
class ShrunkenMedians {
 public:
  /// `log_ratios` has every row; `train` lists the training rows. Binnings and log ratios must
  /// outlive it.
  ShrunkenMedians(std::span<const Form> forms, std::span<const double> log_ratios,
                  std::span<const std::uint32_t> train);

  /// Predicts any row of the binnings; 0 if none of its cells has a training row.
  [[nodiscard]] double Predict(std::uint32_t row);

 private:
  [[nodiscard]] double MedianOf(std::uint32_t row) const;
  [[nodiscard]] std::vector<double> SharesOf(std::size_t form, std::uint32_t row) const;
  [[nodiscard]] std::vector<double> WeightsFor(std::uint32_t row) const;

  std::vector<Form> forms_;
  std::span<const double> log_ratios_;
  std::vector<std::uint32_t> train_;                               // by log ratio
  std::vector<std::vector<std::vector<std::uint32_t>>> num_rows_;  // [form][level][cell]
  std::map<std::vector<std::uint32_t>, double> of_narrowest_;      // by the first cell of each form
};

}  // namespace orrery::compat::echo
