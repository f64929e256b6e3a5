#include "orrery/collective/channel_tables.h"

#include <yaml-cpp/yaml.h>

#include "orrery/collective/embedded_nccl.h"

namespace orrery::collective {
namespace {

constexpr std::array<const char*, kNumGenerations> kGenerationKeys = {"volta", "ampere", "hopper",
                                                                      "blackwell", "other"};

GpuGeneration ReadGeneration(const YAML::Node& node) {
  const auto name = node.as<std::string>();
  for (std::size_t i = 0; i < kNumGenerations; ++i) {
    if (name == kGenerationKeys[i]) {
      return static_cast<GpuGeneration>(i);
    }
  }
  return GpuGeneration::kOther;
}

ChannelTables::KnownGraph ReadKnownGraph(const YAML::Node& node) {
  const auto speed = node["speed"].as<double>();
  return {.space = {.generation = ReadGeneration(node["generation"]),
                    .nodes = node["nodes"].as<int>(),
                    .ranks_per_node = node["ranks_per_node"].as<int>(),
                    .nic = node["nic_gbps"].as<double>(),
                    .nics = node["nics"].as<int>()},
          .graph = {
              .channels = node["channels"].as<int>(), .intra_speed = speed, .inter_speed = speed}};
}

ChannelTables ReadTables(const YAML::Node& root) {
  ChannelTables tables;
  for (std::size_t i = 0; i < kNumGenerations; ++i) {
    const char* const key = kGenerationKeys[i];
    tables.nvlink_share[i] = root["nvlink_share"][key].as<double>();
    tables.speeds[i] = {.intra = root["speeds"][key]["intra"].as<std::vector<double>>(),
                        .inter = root["speeds"][key]["inter"].as<std::vector<double>>()};
    if (root["nvls_channels"][key].IsDefined()) {
      tables.nvls_channels[i] = root["nvls_channels"][key].as<std::array<int, 2>>();
    }
  }
  for (const YAML::Node& node : root["known_graphs"]) {
    tables.known_graphs.push_back(ReadKnownGraph(node));
  }
  tables.pcie_gbps = root["pcie_gbps"].as<std::map<int, double>>();
  tables.cube_mesh_rings = root["cube_mesh_rings"].as<std::map<int, int>>();
  tables.nic_latency_us = root["nic_latency_us"].as<std::map<std::string, double>>();
  tables.p2p_ll_threshold_bytes = root["p2p_ll_threshold_bytes"].as<std::int64_t>();
  tables.p2p_least_part_bytes = root["p2p_least_part_bytes"].as<std::int64_t>();
  return tables;
}

}  // namespace

const ChannelTables& EmbeddedChannelTables() {
  static const ChannelTables tables = ReadTables(YAML::Load(kEmbeddedNcclChannels));
  return tables;
}

double PcieGbps(int generation) {
  const auto& by_generation = EmbeddedChannelTables().pcie_gbps;
  const auto above = by_generation.upper_bound(generation);
  return above == by_generation.begin() ? above->second : std::prev(above)->second;
}

}  // namespace orrery::collective
