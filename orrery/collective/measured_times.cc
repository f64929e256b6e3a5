#include "orrery/collective/measured_times.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/statistics.h"

namespace orrery::collective {

namespace {

auto Place(const MeasuredTime& row) {
  return std::tuple(row.kind, row.gpus, row.size);
}

Status Check(const MeasuredTime& row) {
  if (row.gpus > 0 && row.size.count > 0 && row.seconds > 0 && std::isfinite(row.seconds)) {
    return {};
  }
  return Fail(
      Error::Kind::kInvalidInput,
      fmt::format("a measured time needs GPUs, bytes and seconds above zero: {} on {} GPUs, "
                  "{} bytes, {} s",
                  Name(row.kind), row.gpus, row.size.count, row.seconds));
}

/// Between two rows, on a line in logarithms.
double Between(const MeasuredTime& low, const MeasuredTime& high, Bytes size) {
  const auto log = [](Bytes bytes) { return std::log(static_cast<double>(bytes.count)); };
  const double part = (log(size) - log(low.size)) / (log(high.size) - log(low.size));
  return low.seconds * std::pow(high.seconds / low.seconds, part);
}

}  // namespace

Result<MeasuredTimes> MeasuredTimes::Create(std::span<const MeasuredTime> rows) {
  std::vector<MeasuredTime> sorted(rows.begin(), rows.end());
  for (const MeasuredTime& row : sorted) {
    ORRERY_TRY_STATUS(Check(row));
  }
  std::ranges::stable_sort(sorted, {}, Place);
  MeasuredTimes times;
  std::vector<double> seconds;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    seconds.push_back(sorted[i].seconds);
    if (i + 1 == sorted.size() || Place(sorted[i]) != Place(sorted[i + 1])) {
      times.rows_.push_back(sorted[i]);
      times.rows_.back().seconds = GeometricMean(seconds);
      seconds.clear();
    }
  }
  return times;
}

Result<double> MeasuredTimes::Seconds(CollectiveKind kind, int gpus, Bytes size) const {
  const std::span<const MeasuredTime> rows = RowsOf(kind, gpus);
  if (rows.empty()) {
    return NotMeasured(kind, gpus);
  }
  const auto above = std::ranges::lower_bound(rows, size, {}, &MeasuredTime::size);
  if (above == rows.end() || size < rows.front().size) {
    return Fail(
        Error::Kind::kNotFound,
        fmt::format("{} on {} GPUs is measured from {} to {} bytes, not with {}", Name(kind), gpus,
                    rows.front().size.count, rows.back().size.count, size.count));
  }
  return above->size == size ? above->seconds : Between(*std::prev(above), *above, size);
}

std::span<const MeasuredTime> MeasuredTimes::RowsOf(CollectiveKind kind, int gpus) const {
  const auto found = std::ranges::equal_range(
      rows_, std::tuple(kind, gpus), {},
      [](const MeasuredTime& row) { return std::tuple(row.kind, row.gpus); });
  return {found.begin(), found.end()};
}

tl::unexpected<Error> MeasuredTimes::NotMeasured(CollectiveKind kind, int gpus) const {
  std::set<int> measured;
  for (const MeasuredTime& row : rows_) {
    if (row.kind == kind) {
      measured.insert(row.gpus);
    }
  }
  if (measured.empty()) {
    return Fail(Error::Kind::kNotFound, fmt::format("{} is not measured", Name(kind)));
  }
  return Fail(Error::Kind::kNotFound, fmt::format("{} is measured on {} GPUs, not on {}",
                                                  Name(kind), fmt::join(measured, ", "), gpus));
}

}  // namespace orrery::collective
