#include "orrery/network/congestion.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "orrery/network/embedded_congestion.h"

namespace orrery::network {
namespace {

CongestionParameters ReadParameters(const YAML::Node& node) {
  return {.first = node["first"].as<double>(),
          .slope = node["slope"].as<double>(),
          .floor = node["floor"].as<double>(),
          .source = node["source"].as<std::string>()};
}

}  // namespace

double CongestionModel::Goodput(double competing) const {
  if (competing <= 1) {
    return 1;
  }
  return std::max(parameters_.first - parameters_.slope * std::log2(competing), parameters_.floor);
}

Result<CongestionModel> FindCongestionModel(std::string_view name) {
  std::string names;
  for (const YAML::Node& node : YAML::Load(kEmbeddedCongestion)["models"]) {
    const std::string known = node["name"].as<std::string>();
    if (known == name) {
      return CongestionModel(ReadParameters(node));
    }
    names += (names.empty() ? "" : ", ") + known;
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("no such congestion model; there are {}: {}", names, name));
}

}  // namespace orrery::network
