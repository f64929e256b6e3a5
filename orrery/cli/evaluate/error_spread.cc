#include "orrery/cli/evaluate/error_spread.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/check.h"

namespace orrery::cli {
namespace {

double Quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

draw::Spread ErrorSpread(draw::Series series, std::vector<double> errors) {
  ORRERY_CHECK(!errors.empty(), "a spread has values");
  std::ranges::sort(errors);
  double sum = 0;
  for (const double error : errors) {
    sum += error;
  }
  const double p95 = Quantile(errors, 0.95);
  return {.series = std::move(series),
          .smallest = Quantile(errors, 0.05),
          .lower_quartile = Quantile(errors, 0.25),
          .median = Quantile(errors, 0.5),
          .upper_quartile = Quantile(errors, 0.75),
          .largest = p95,
          .note = fmt::format("mean {:.1f} %, 95 % below {:.1f} %, {} rows",
                              sum / static_cast<double>(errors.size()), p95, errors.size())};
}

}  // namespace orrery::cli
