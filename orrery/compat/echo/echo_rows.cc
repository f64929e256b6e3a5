#include "orrery/compat/echo/echo_rows.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/statistics.h"

namespace orrery::compat::echo {
namespace {

/// One row of the table; the line of the file is its number and the header's.
class RowReader {
 public:
  RowReader(const Table& table, std::size_t row) : table_(table), row_(row) {}

  [[nodiscard]] Result<EchoRow> Read() const {
    EchoRow row;
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
      return FailAt(column, "a number is wanted");
    }
    return *value;
  }

  [[nodiscard]] Result<double> Time(std::string_view column) const {
    ORRERY_TRY(const double value, Number(column));
    if (value <= 0) {
      return FailAt(column, "a time above 0 is wanted");
    }
    return value;
  }

  [[nodiscard]] Result<std::string> Text(std::string_view column) const {
    const auto value = table_.Text(row_, column);
    if (!value || value->empty()) {
      return FailAt(column, "a name is wanted");
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
                  fmt::format("there is no column {}; Echo's merged features are wanted", column));
    }
  }
  return {};
}

constexpr ClockStep kPublicStep = {.first_id = 241, .last_id = 267};
constexpr double kSameClock = 0.02;

}  // namespace

ClockStep PublicClockStep(std::span<const EchoRow> rows) {
  std::vector<double> ratios;
  for (const EchoRow& row : rows) {
    if (kPublicStep.Spoils(row) && !row.IsOverlapped()) {
      ratios.push_back(row.together_ns / row.alone_ns);
    }
  }
  const bool is_there = !ratios.empty() && std::abs(Median(ratios) - 1) > kSameClock;
  return is_there ? kPublicStep : ClockStep{};
}

Result<std::vector<EchoRow>> ReadEchoRows(const Table& table) {
  ORRERY_TRY_STATUS(CheckColumns(table));
  if (table.num_rows() == 0) {
    return Fail(Error::Kind::kInvalidInput, "the table has no rows");
  }
  std::vector<EchoRow> rows;
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    ORRERY_TRY(EchoRow read, RowReader(table, row).Read());
    rows.push_back(std::move(read));
  }
  return rows;
}

}  // namespace orrery::compat::echo
