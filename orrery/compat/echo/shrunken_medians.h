#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "orrery/compat/echo/echo_rows.h"
#include "orrery/compat/echo/schedule.h"

namespace orrery::compat::echo {

/// Rows sorted into cells, several times: the cells of the first level are the narrowest.
struct Ladder {
  std::string name;
  std::vector<std::vector<std::uint32_t>> cell_of_row;  // [level][row]
};

/// How a span of communication is told from others, beside a kernel's name, overlap and size.
enum class SpanKey : std::uint8_t { kNone, kTotalTime, kRows, kManyRows, kLong };

/// How the place inside of a span is told.
enum class PlaceKey : std::uint8_t { kWholeRows, kSince };

/// Cells by (name, overlap in four steps, octave of the time alone, span, place), then without the
/// place, without the span, and by name and overlap alone. Without a span key the first two are
/// left out.
[[nodiscard]] Ladder MakeLadder(std::span<const EchoRow> rows, std::span<const Place> places,
                                SpanKey span, PlaceKey place);

/// A ladder and how many rows the next wider cell counts for.
struct Form {
  const Ladder* ladder = nullptr;
  double prior = 1;
};

/// Predicts ln(together / alone) as the value with the least mean |error| of the duration: the
/// median of the rows in a cell, each weighted by alone / together, since that is what an error of
/// a predicted ratio costs there. A cell is shrunk towards the next wider one, as if it had `prior`
/// rows more that are spread like those of the wider cell: a lone row of 27 times the time alone
/// does not speak for its cell. Several forms speak with equal weight before the median is taken.
class ShrunkenMedians {
 public:
  /// `log_ratios` has every row; `train` are those that may be looked at. Ladders and log ratios
  /// must outlive it.
  ShrunkenMedians(std::span<const Form> forms, std::span<const double> log_ratios,
                  std::span<const std::uint32_t> train);

  /// Any row of the ladders; 0 where no cell of it has a row.
  [[nodiscard]] double Predict(std::uint32_t row);

 private:
  [[nodiscard]] double MedianOf(std::uint32_t row) const;
  [[nodiscard]] std::vector<double> SharesOf(std::size_t form, std::uint32_t row) const;
  [[nodiscard]] std::vector<double> WeightsBeside(std::uint32_t row) const;

  std::vector<Form> forms_;
  std::span<const double> log_ratios_;
  std::vector<std::uint32_t> train_;                               // by log ratio
  std::vector<std::vector<std::vector<std::uint32_t>>> num_rows_;  // [form][level][cell]
  std::map<std::vector<std::uint32_t>, double> of_narrowest_;      // by the first cell of each form
};

}  // namespace orrery::compat::echo
