#include "orrery/compat/echo/rows.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/table.h"

namespace orrery::compat::echo {
namespace {

/// Reads one row of the table.
class RowReader {
 public:
  RowReader(const Table& table, std::size_t row) : table_(table), row_(row) {}

  [[nodiscard]] Result<KernelRow> Read() const {
    KernelRow row;
    ORRERY_TRY(const double id, Number("id"));
    row.id = static_cast<std::int64_t>(id);
    ORRERY_TRY(row.name, Text("kShortName"));
    ORRERY_TRY(row.alone_ns, Time("ground_truth"));
    ORRERY_TRY(row.together_ns, Time("duration"));
    ORRERY_TRY(row.overlap_ratio, Number("overlap_ratio"));
    ORRERY_TRY(row.slowdown, Number("slowdown"));
    for (std::size_t feature = 0; feature < kFeatures.size(); ++feature) {
      ORRERY_TRY(row.features[feature], Number(kFeatures[feature]));
    }
    return row;
  }

 private:
  [[nodiscard]] Result<double> Number(std::string_view column) const {
    const auto value = table_.NumberInText(row_, column);
    if (!value || !std::isfinite(*value) || std::abs(*value) > 1e15) {
      return FailAt(column, "expected a number");
    }
    return *value;
  }

  [[nodiscard]] Result<double> Time(std::string_view column) const {
    ORRERY_TRY(const double value, Number(column));
    if (value <= 0) {
      return FailAt(column, "expected a time above 0");
    }
    return value;
  }

  [[nodiscard]] Result<std::string> Text(std::string_view column) const {
    const auto value = table_.Text(row_, column);
    if (!value || value->empty()) {
      return FailAt(column, "expected a name");
    }
    return std::string(*value);
  }

  [[nodiscard]] tl::unexpected<Error> FailAt(std::string_view column, std::string_view what) const {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("row {}: column {}: {}", row_ + 1, column, what));
  }

  const Table& table_;
  std::size_t row_;
};

Status CheckColumns(const Table& table) {
  for (const std::string_view column :
       {"id", "kShortName", "ground_truth", "duration", "overlap_ratio", "slowdown"}) {
    if (!table.FindColumn(column)) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("column {} is missing; expected Echo's merged features", column));
    }
  }
  return {};
}

constexpr ClockStep kPublicStep = {.first_id = 241, .last_id = 267};
constexpr double kSameClock = 0.02;

// The least overlap ratio of a kernel that is overlapped all the time.
constexpr double kWhole = 0.99;

}  // namespace

ClockStep PublicClockStep(std::span<const KernelRow> rows) {
  std::vector<double> ratios;
  for (const KernelRow& row : rows) {
    if (kPublicStep.Affects(row) && !row.IsOverlapped()) {
      ratios.push_back(row.together_ns / row.alone_ns);
    }
  }
  const bool has_step = !ratios.empty() && std::abs(Median(ratios) - 1) > kSameClock;
  return has_step ? kPublicStep : ClockStep{};
}

Result<std::vector<KernelRow>> ReadRows(const Table& table) {
  ORRERY_TRY_STATUS(CheckColumns(table));
  if (table.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput, "the table has no rows");
  }
  std::vector<KernelRow> rows;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    ORRERY_TRY(KernelRow read, RowReader(table, row).Read());
    rows.push_back(std::move(read));
  }
  return rows;
}

std::vector<Position> PositionsOf(std::span<const KernelRow> rows) {
  std::vector<Position> positions(rows.size());
  std::uint32_t segment = 0;
  std::size_t row = 0;
  while (row < rows.size()) {
    std::size_t end = row;
    while (end < rows.size() && rows[end].IsOverlapped()) {
      ++end;
    }
    segment += end > row ? 1 : 0;
    double since_ns = 0;
    for (std::size_t i = row; i < end; ++i) {
      positions[i].since_ns = since_ns;
      since_ns += rows[i].overlap_ratio * rows[i].alone_ns;
    }
    for (std::size_t i = row; i < end; ++i) {
      positions[i].rows_of_span = static_cast<std::uint32_t>(end - row);
      positions[i].span_ns = since_ns;
    }
    end += end == row ? 1 : 0;
    for (; row < end; ++row) {
      positions[row].segment = segment;
    }
  }
  std::uint32_t whole = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    whole = rows[i].overlap_ratio >= kWhole ? whole + 1 : 0;
    positions[i].whole_so_far = whole;
  }
  return positions;
}

}  // namespace orrery::compat::echo
