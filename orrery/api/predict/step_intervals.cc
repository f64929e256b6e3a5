#include "orrery/api/predict/step_intervals.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "orrery/api/predict/embedded_step_intervals.h"
#include "orrery/base/check.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/learn/interval.h"

namespace orrery::api {
namespace {

// As tools/fit_step_intervals.py sorts models.
constexpr double kHostBound = 0.05;
constexpr double kUncertain = 0.1;

constexpr double kFourOfFive = 1.2816;  // standard deviations of a normal distribution

// No recording verifies kernels that are rescaled to another GPU, nor calls without a model:
// standard deviations of the logarithm that stand in for measurements.
constexpr double kRescaled = 0.1;
constexpr double kUnmodelled = 0.5;
constexpr double kByBytes = 0.3;

/// Logarithms of the ends of an interval over the predicted step; both positive.
struct Width {
  double below = 0;
  double above = 0;

  void Add(double below_too, double above_too) {
    below = std::hypot(below, below_too);
    above = std::hypot(above, above_too);
  }
};

Width WidthOf(std::string_view kind) {
  static const Table kTable = [] {
    Result<Table> table = ParseCsv(kEmbeddedStepIntervals);
    ORRERY_CHECK(table.has_value(), table ? "" : table.error().message());
    return *std::move(table);
  }();
  for (std::size_t row = 0; row < kTable.num_rows(); ++row) {
    if (kTable.Text(row, "kind") == kind) {
      return {.below = -std::log(kTable.Number(row, "low").value_or(1)),
              .above = std::log(kTable.Number(row, "high").value_or(1))};
    }
  }
  ORRERY_CHECK(false, "data/host/step_intervals.csv has all kinds");
  return {};
}

std::string_view NameOf(const StepKind& kind) {
  const bool is_host_bound = kind.host_bound >= kHostBound;
  if (kind.is_recorded) {
    return is_host_bound ? "recording, host" : "recording, GPU";
  }
  if (is_host_bound) {
    return "trace, host";
  }
  return kind.uncertain >= kUncertain ? "trace, GPU, extrapolated" : "trace, GPU";
}

}  // namespace

learn::TimeInterval IntervalOfStep(double seconds, const StepKind& kind) {
  Width width = WidthOf(NameOf(kind));
  if (!kind.is_host_given) {
    const Width hosts = WidthOf("hosts");
    width.Add(hosts.below * kind.host_bound, hosts.above * kind.host_bound);
  }
  const double unverified =
      kFourOfFive * std::hypot(kind.is_rescaled ? kRescaled : 0.0,
                               kUnmodelled * kind.unmodelled + kByBytes * kind.by_bytes,
                               kind.loader_error);
  width.Add(unverified, unverified);
  return {.low_s = seconds * std::exp(-width.below), .high_s = seconds * std::exp(width.above)};
}

}  // namespace orrery::api
