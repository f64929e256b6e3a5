#include "orrery/network/congestion.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/network/embedded_congestion.h"

namespace orrery::network {

double CongestionModel::Goodput(double competing) const {
  if (competing <= 1) {
    return 1;
  }
  return std::max(first - slope * std::log2(competing), floor);
}

Result<CongestionModel> FindCongestionModel(std::string_view name) {
  std::string names;
  for (const YAML::Node& node : YAML::Load(kEmbeddedCongestion)["models"]) {
    const std::string known = node["name"].as<std::string>();
    if (known == name) {
      return CongestionModel{.first = node["first"].as<double>(),
                             .slope = node["slope"].as<double>(),
                             .floor = node["floor"].as<double>(),
                             .pauses = node["pauses"].as<bool>(false),
                             .source = node["source"].as<std::string>()};
    }
    names += (names.empty() ? "" : ", ") + known;
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("no such congestion model; there are {}: {}", names, name));
}

}  // namespace orrery::network
