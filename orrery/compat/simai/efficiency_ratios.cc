#include "orrery/compat/simai/efficiency_ratios.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/text.h"
#include "orrery/base/check.h"
#include "orrery/compat/embedded_simai_ratios.h"

namespace orrery::compat::simai {
namespace {

constexpr int kNodesWithoutColumn = 16;

using Column = std::vector<double>;  // one ratio for each size; empty: 1 at every size

struct Ratios {
  std::vector<double> sizes;  // bytes, ascending
  std::map<RatioTable, std::map<int, Column>> columns;
  std::map<int, std::int64_t> small_call_us;  // by ranks
  std::map<std::string, double> nvlink_gib_per_second;
  std::map<std::string, double> nic_gib_per_second;
};

std::map<int, Column> ReadColumns(const YAML::Node& node, std::size_t num_sizes) {
  std::map<int, Column> column_of_nodes;
  for (const auto& entry : node) {
    const auto name = entry.first.as<std::string>();
    const int nodes = name == "multi_16" ? kOneGpuEachNode : std::stoi(name);
    auto column = entry.second.as<Column>();
    ORRERY_CHECK(column.empty() || column.size() == num_sizes, name);
    column_of_nodes.emplace(nodes, std::move(column));
  }
  return column_of_nodes;
}

std::map<std::string, double> ReadBandwidths(const YAML::Node& node) {
  return node.as<std::map<std::string, double>>();
}

const Ratios& EmbeddedRatios() {
  static const Ratios ratios = [] {
    const YAML::Node root = YAML::Load(kEmbeddedRatios);
    Ratios read;
    for (const YAML::Node& size_mib : root["sizes_mib"]) {
      read.sizes.push_back(size_mib.as<double>() * (1 << 20));
    }
    read.columns[RatioTable::kNic] = ReadColumns(root["nic"], read.sizes.size());
    read.columns[RatioTable::kNvlink] = ReadColumns(root["nvlink"], read.sizes.size());
    read.columns[RatioTable::kAllToAll] = ReadColumns(root["ata"], read.sizes.size());
    read.small_call_us = root["small_call_us"].as<std::map<int, std::int64_t>>();
    read.nvlink_gib_per_second = ReadBandwidths(root["nvlink_gib_per_second"]);
    read.nic_gib_per_second = ReadBandwidths(root["nic_gib_per_second"]);
    return read;
  }();
  return ratios;
}

const Column& ColumnFor(const Ratios& ratios, RatioTable table, int nodes) {
  const std::map<int, Column>& columns = ratios.columns.at(table);
  const auto found = columns.find(nodes);
  return found == columns.end() ? columns.at(kNodesWithoutColumn) : found->second;
}

double Interpolated(const std::vector<double>& sizes, const Column& column, double size) {
  if (size <= sizes.front()) {
    return column.front();
  }
  const auto above = std::ranges::lower_bound(sizes, size);
  const auto upper = static_cast<std::size_t>(above - sizes.begin());
  const double share = (size - sizes[upper - 1]) / (sizes[upper] - sizes[upper - 1]);
  return column[upper - 1] + (column[upper] - column[upper - 1]) * share;
}

Result<double> Named(const std::map<std::string, double>& bandwidths, std::string_view name) {
  const auto found = bandwidths.find(LowerCase(name));
  if (found != bandwidths.end()) {
    return found->second;
  }
  std::string known;
  for (const auto& [other, bandwidth] : bandwidths) {
    known += (known.empty() ? "" : ", ") + other;
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("SimAI knows the bandwidth of {}, not of '{}'", known, name));
}

}  // namespace

Result<double> EfficiencyRatio(RatioTable table, int nodes, Bytes size) {
  const Ratios& ratios = EmbeddedRatios();
  const auto bytes = static_cast<double>(size.count);
  if (bytes > ratios.sizes.back()) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("SimAI has no efficiency above 16 GiB: {} bytes", size.count));
  }
  const Column& column = ColumnFor(ratios, table, nodes);
  if (column.empty() || size.count == 0) {
    return 1.0;
  }
  return Interpolated(ratios.sizes, column, bytes) / column.back();
}

Duration SmallCallTime(int ranks) {
  const auto& small_call_us = EmbeddedRatios().small_call_us;
  const auto found = small_call_us.find(ranks);
  return {found == small_call_us.end() ? 0 : found->second * 1000};
}

Result<double> UsualNvlink(std::string_view gpu) {
  return Named(EmbeddedRatios().nvlink_gib_per_second, gpu);
}

Result<double> UsualNic(std::string_view nic) {
  return Named(EmbeddedRatios().nic_gib_per_second, nic);
}

}  // namespace orrery::compat::simai
