#pragma once

#include <string>
#include <utility>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::api {

/// Dollars of a GPU hour by the name of the GPU; "": of any.
using PriceList = std::vector<std::pair<std::string, double>>;

/// Reads --price: "2.5", or "H100=2.5,A100-80GB=1.1".
[[nodiscard]] Result<PriceList> ReadPrices(const std::string& price);

/// Fails where the list has none.
[[nodiscard]] Result<double> PriceOfGpu(const PriceList& prices, const std::string& gpu);

}  // namespace orrery::api
