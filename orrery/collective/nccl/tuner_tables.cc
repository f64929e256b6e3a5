#include "orrery/collective/nccl/tuner_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/embedded_nccl.h"

namespace orrery::collective {
namespace {

constexpr int kMostSearched = 32;
constexpr int kMostChannels = 64;

// A lower speed is tried when it is more than this share of the best so far.
constexpr double kLeastStep = 0.49;

const ChannelTables::Speeds& SpeedsOf(GpuGeneration generation) {
  return EmbeddedChannelTables().speeds[static_cast<std::size_t>(generation)];
}

int Fitting(double bandwidth, double speed) {
  return static_cast<int>(std::floor(bandwidth / speed));
}

// A ring enters and leaves every node by one NIC, so NICs and the links of a GPU both limit rings.
int ChannelsAt(const SearchSpace& space, double speed) {
  int channels = std::min(Fitting(space.gpu_link, speed), kMostSearched);
  if (space.ranks_per_node == 1) {
    channels = kMostSearched;  // no link inside the node is used
  }
  return space.nodes == 1 ? channels : std::min(channels, space.nics * Fitting(space.nic, speed));
}

ChannelGraph LargestTotal(const SearchSpace& space, std::span<const double> speeds) {
  ChannelGraph best;
  for (const double speed : speeds) {
    if (best.channels > 0 && speed / best.intra_speed <= kLeastStep) {
      break;
    }
    const int channels = ChannelsAt(space, speed);
    if (channels * speed > best.intra_total()) {
      best = {.channels = channels, .intra_speed = speed, .inter_speed = speed};
    }
  }
  if (best.channels == 0) {
    const double slow = space.nodes == 1 ? space.gpu_link : space.nic;
    return {.channels = 1, .intra_speed = slow, .inter_speed = slow};
  }
  return best;
}

// Fast channels are split, so that more thread blocks share the work. NCCL's rule except for
// Blackwell, where measured protocol changes of a B200 node match 8 channels.
bool Splits(const ChannelGraph& graph, GpuGeneration generation) {
  if (graph.intra_speed < 25 || generation == GpuGeneration::kBlackwell) {
    return false;
  }
  return generation != GpuGeneration::kHopper || graph.intra_speed >= 50 || graph.channels <= 4;
}

ChannelGraph Split(ChannelGraph graph) {
  return {.channels = graph.channels * 2,
          .intra_speed = graph.intra_speed / 2,
          .inter_speed = graph.inter_speed / 2};
}

const ChannelGraph* FindKnown(const SearchSpace& space) {
  for (const auto& known : EmbeddedChannelTables().known_graphs) {
    if (known.space.generation == space.generation && known.space.nodes == space.nodes &&
        known.space.ranks_per_node == space.ranks_per_node && known.space.nics == space.nics &&
        known.space.nic == space.nic && known.graph.intra_total() <= space.gpu_link) {
      return &known.graph;
    }
  }
  return nullptr;
}

double FastestWithin(std::span<const double> speeds, double bandwidth) {
  const auto found = std::ranges::find_if(speeds, [&](double speed) { return speed <= bandwidth; });
  return found == speeds.end() ? bandwidth : *found;
}

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
  tables.p2p_network_channels = root["p2p_channels"]["network"].as<int>();
  tables.p2p_node_channels = root["p2p_channels"]["node"].as<int>();
  return tables;
}

constexpr std::array<const char*, kNumTunedAlgorithms> kAlgorithmKeys = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};

constexpr std::array<const char*, kNumProtocols> kProtocolKeys = {"ll", "ll128", "simple"};

constexpr std::array<const char*, 4> kTunedGenerationKeys = {"volta", "ampere", "hopper",
                                                             "blackwell"};

// Each reader below takes the fields that exist and keeps the others of the previous version.

template <typename Value>
void ReadValue(const YAML::Node& node, Value& value) {
  if (node.IsDefined()) {
    value = node.as<Value>();
  }
}

template <typename Rows, std::size_t kSize>
void ReadRows(const YAML::Node& node, const std::array<const char*, kSize>& keys, Rows& rows) {
  for (std::size_t i = 0; node.IsDefined() && i < kSize; ++i) {
    ReadValue(node[keys[i]], rows[i]);
  }
}

void ReadLatencies(const YAML::Node& node, TunerTables::Latencies& latencies) {
  if (node.IsDefined()) {
    ReadRows(node["base"], kAlgorithmKeys, latencies.base);
    ReadRows(node["nvlink"], kAlgorithmKeys, latencies.nvlink);
    ReadRows(node["pci"], kAlgorithmKeys, latencies.pci);
    ReadRows(node["network"], kAlgorithmKeys, latencies.network);
  }
}

void ReadLimits(const YAML::Node& node, TunerTables::Limits& limits) {
  if (node.IsDefined()) {
    ReadRows(node["ll"], kTunedGenerationKeys, limits.ll);
    ReadRows(node["ring_ll128_channel"], kTunedGenerationKeys, limits.ring_ll128_channel);
    ReadRows(node["tree_ll128_channel"], kTunedGenerationKeys, limits.tree_ll128_channel);
    ReadRows(node["tree_channel"], kTunedGenerationKeys, limits.tree_channel);
    ReadRows(node["nvls_tree_channel"], kTunedGenerationKeys, limits.nvls_tree_channel);
  }
}

void ReadVersion(const YAML::Node& node, TunerTables& tables) {
  tables.version = node["version"].as<std::string>();
  ReadLatencies(node["latency_us"], tables.latencies);
  ReadLimits(node["gbps"], tables.limits);
  ReadRows(node["nvls_efficiency"], kTunedGenerationKeys, tables.nvls_efficiency);
  ReadValue(node["nvls_head_share"], tables.nvls_head_share);
  ReadValue(node["ring_ll_share"], tables.ring_ll_share);
  ReadValue(node["ring_ll_share_one_way"], tables.ring_ll_share_one_way);
  ReadValue(node["has_nvls"], tables.has_nvls);
  ReadValue(node["has_pat"], tables.has_pat);
  ReadRows(node["tree_correction"], kProtocolKeys, tables.tree_correction);
}

TunerTables ReadRccl(const YAML::Node& node) {
  TunerTables tables;
  ReadVersion(node, tables);
  tables.is_rccl = true;
  ReadRows(node["ring_correction"], kProtocolKeys, tables.ring_correction);
  ReadRows(node["bus_share"]["two_nodes"], kAlgorithmKeys, tables.bus_share[0]);
  ReadRows(node["bus_share"]["more_nodes"], kAlgorithmKeys, tables.bus_share[1]);
  const std::array<const char*, 3> kinds = {"all_reduce", "all_gather", "reduce_scatter"};
  ReadRows(node["ll_bytes_of_rank"], kinds, tables.ll_bytes_of_rank);
  return tables;
}

// Newest first.
struct Version {
  int major = 0;
  int minor = 0;

  auto operator<=>(const Version&) const = default;
};

std::optional<Version> ParseVersion(std::string_view text) {
  Version version;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') {
    return std::nullopt;
  }
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  return minor.ec == std::errc{} ? std::optional(version) : std::nullopt;
}

}  // namespace

ChannelGraph SearchRings(const SearchSpace& space) {
  if (const ChannelGraph* const known = FindKnown(space)) {
    return *known;
  }
  const auto& speeds = SpeedsOf(space.generation);
  const ChannelGraph graph = LargestTotal(space, space.nodes == 1 ? speeds.intra : speeds.inter);
  return Splits(graph, space.generation) ? Split(graph) : graph;
}

// Each channel reduces the values of all GPUs at its head. A GPU sends its values for every head,
// and what it reduced as one, so each of n channels gets 1 / (n + 1) of the link.
ChannelGraph SearchNvls(const SearchSpace& space) {
  const auto& speeds = SpeedsOf(space.generation);
  const bool one_node = space.nodes == 1;
  const int channels = one_node ? space.ranks_per_node : std::min(space.ranks_per_node, space.nics);
  const double intra = FastestWithin(speeds.intra, space.gpu_link / (channels + 1));
  return {.channels = channels,
          .intra_speed = intra,
          .inter_speed = one_node ? intra : FastestWithin(speeds.inter, space.nic)};
}

int DoubledChannels(const ChannelGraph& graph, GpuGeneration generation, int nodes) {
  int channels = graph.channels * 2;
  if (generation == GpuGeneration::kHopper && nodes > 1 && graph.intra_speed > 45 &&
      channels < 16) {
    channels *= 2;
  }
  return std::min(channels, kMostChannels);
}

const ChannelTables& EmbeddedChannelTables() {
  static const ChannelTables tables = ReadTables(YAML::Load(kEmbeddedNcclChannels));
  return tables;
}

double PcieGbps(int generation) {
  const auto& by_generation = EmbeddedChannelTables().pcie_gbps;
  const auto above = by_generation.upper_bound(generation);
  return above == by_generation.begin() ? above->second : std::prev(above)->second;
}

std::size_t RowOf(GpuGeneration generation) {
  return static_cast<std::size_t>(generation == GpuGeneration::kOther ? GpuGeneration::kAmpere
                                                                      : generation);
}

const std::vector<TunerTables>& AllTunerTables() {
  static const std::vector<TunerTables> all = [] {
    std::vector<TunerTables> versions;
    for (const YAML::Node& node : YAML::Load(kEmbeddedNcclTuner)["versions"]) {
      TunerTables tables;
      if (node["like"].IsDefined()) {
        const auto like =
            std::ranges::find(versions, node["like"].as<std::string>(), &TunerTables::version);
        ORRERY_CHECK(like != versions.end(), node["like"].as<std::string>());
        tables = *like;
      }
      ReadVersion(node, tables);
      versions.push_back(std::move(tables));
    }
    return versions;
  }();
  return all;
}

const TunerTables& RcclTables() {
  static const TunerTables tables = ReadRccl(YAML::Load(kEmbeddedRcclTuner));
  return tables;
}

const TunerTables& NewestTunerTables() {
  return AllTunerTables().front();
}

Result<const TunerTables*> FindTunerTables(std::string_view nccl_version) {
  if (nccl_version.empty()) {
    return &NewestTunerTables();
  }
  const std::optional<Version> version = ParseVersion(nccl_version);
  if (!version) {
    return Invalid("'{}' is no version of NCCL such as 2.21.5", nccl_version);
  }
  const auto& all = AllTunerTables();
  const auto found = std::ranges::find_if(
      all, [&](const TunerTables& tables) { return *ParseVersion(tables.version) <= *version; });
  if (found == all.end()) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("the oldest NCCL whose choices are known is {}, not {}",
                            all.back().version, nccl_version));
  }
  return &*found;
}

}  // namespace orrery::collective
