#include "orrery/compat/echo/schedule.h"

#include <cstddef>

namespace orrery::compat::echo {
namespace {

// What counts as overlapped for all its time.
constexpr double kWhole = 0.99;

/// Fills the places of one span, rows [begin, end).
void PlaceSpan(std::span<const EchoRow> rows, std::size_t begin, std::size_t end,
               std::vector<Place>& places) {
  double since_ns = 0;
  for (std::size_t row = begin; row < end; ++row) {
    places[row].since_ns = since_ns;
    since_ns += rows[row].overlap_ratio * rows[row].alone_ns;
  }
  for (std::size_t row = begin; row < end; ++row) {
    places[row].rows_of_span = static_cast<std::uint32_t>(end - begin);
    places[row].span_ns = since_ns;
  }
}

void CountWholeRows(std::span<const EchoRow> rows, std::vector<Place>& places) {
  std::uint32_t whole = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    whole = rows[row].overlap_ratio >= kWhole ? whole + 1 : 0;
    places[row].whole_so_far = whole;
  }
}

}  // namespace

std::vector<Place> PlacesOf(std::span<const EchoRow> rows) {
  std::vector<Place> places(rows.size());
  std::uint32_t slowdown = 0;
  std::size_t row = 0;
  while (row < rows.size()) {
    std::size_t end = row;
    while (end < rows.size() && rows[end].IsOverlapped()) {
      ++end;
    }
    slowdown += end > row ? 1 : 0;
    PlaceSpan(rows, row, end, places);
    end += end == row ? 1 : 0;
    for (; row < end; ++row) {
      places[row].slowdown = slowdown;
    }
  }
  CountWholeRows(rows, places);
  return places;
}

}  // namespace orrery::compat::echo
