#include "orrery/api/input/price_list.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/api/errors.h"
#include "orrery/api/input/job_input.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/hardware/gpu.h"

namespace orrery::api {
namespace {

Result<double> PriceOf(std::string_view text, const std::string& price) {
  const std::optional<double> dollars = ParseWhole<double>(text);
  if (!dollars || !std::isfinite(*dollars) || *dollars < 0) {
    return InvalidInput(
        "--price {}: write dollars of a GPU hour, such as 2.5, or H100=2.5,A100-80GB=1.1", price);
  }
  return *dollars;
}

}  // namespace

Result<PriceList> ReadPrices(const std::string& price) {
  PriceList prices;
  for (std::string_view left = price; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view entry = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      ORRERY_TRY(const double dollars, PriceOf(entry, price));
      prices.emplace_back("", dollars);
      continue;
    }
    ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(std::string(entry.substr(0, equals))));
    ORRERY_TRY(const double dollars, PriceOf(entry.substr(equals + 1), price));
    prices.emplace_back(gpu->name, dollars);
  }
  return prices;
}

Result<double> PriceOfGpu(const PriceList& prices, const std::string& gpu) {
  for (const auto& [name, dollars] : prices) {
    if (name.empty() || name == gpu) {
      return dollars;
    }
  }
  return InvalidInput("--price has no entry for {}, which the job uses", gpu);
}

}  // namespace orrery::api
