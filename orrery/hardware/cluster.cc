#include "orrery/hardware/cluster.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/base/units.h"
#include "orrery/hardware/embedded_catalogue.h"
#include "orrery/hardware/gpu.h"

namespace orrery::hardware {
namespace {

constexpr std::array<Spelling<IslandKind>, 7> kIslandKinds{{
    {"nvswitch", IslandKind::kNvswitch},
    {"nvlink_mesh", IslandKind::kNvlinkMesh},
    {"nvlink_cube_mesh", IslandKind::kNvlinkCubeMesh},
    {"pcie", IslandKind::kPcie},
    {"infinity_fabric", IslandKind::kInfinityFabric},
    {"hccs", IslandKind::kHccs},
    {"neuronlink", IslandKind::kNeuronlink},
}};

constexpr std::array<Spelling<NetworkKind>, 7> kNetworkKinds{{
    {"none", NetworkKind::kNone},
    {"infiniband", NetworkKind::kInfiniband},
    {"roce", NetworkKind::kRoce},
    {"efa", NetworkKind::kEfa},
    {"slingshot", NetworkKind::kSlingshot},
    {"omni_path", NetworkKind::kOmniPath},
    {"gpudirect_tcpx", NetworkKind::kGpudirectTcpx},
}};

constexpr std::array<Spelling<FabricPreset>, 5> kFabricPresets{{
    {"none", FabricPreset::kNone},
    {"single_switch", FabricPreset::kSingleSwitch},
    {"fat_tree", FabricPreset::kFatTree},
    {"rail_optimised", FabricPreset::kRailOptimised},
    {"dragonfly", FabricPreset::kDragonfly},
}};

constexpr std::array<Spelling<CpuVendor>, 3> kCpuVendors{{
    {"intel", CpuVendor::kIntel},
    {"amd", CpuVendor::kAmd},
    {"nvidia", CpuVendor::kNvidia},
}};

constexpr std::array<std::pair<std::string_view, int Fabric::*>, 6> kFabricCounts{{
    {"levels", &Fabric::levels},
    {"radix", &Fabric::radix},
    {"nodes_per_block", &Fabric::nodes_per_block},
    {"routers_per_group", &Fabric::routers_per_group},
    {"hosts_per_router", &Fabric::hosts_per_router},
    {"globals_per_router", &Fabric::globals_per_router},
}};

template <typename Value, std::size_t kSize>
std::string_view SpellingOf(Value value, const std::array<Spelling<Value>, kSize>& spellings) {
  for (const auto& [spelling, meaning] : spellings) {
    if (meaning == value) {
      return spelling;
    }
  }
  return {};
}

// The member of the part that is overridden; none in the catalogue, where a field is required.
template <typename Part, typename T>
std::optional<T> BaseValue(const Part* base, T Part::* member) {
  return base == nullptr ? std::nullopt : std::optional<T>(base->*member);
}

template <typename Part>
Duration ReadLatency(YamlFields& fields, const Part* base, std::string_view kind,
                     YamlFields* latencies_ns) {
  if (base != nullptr) {
    return {fields.Count("latency_ns", 0, static_cast<int>(base->latency.nanoseconds))};
  }
  return {fields.Count("latency_ns", 1, latencies_ns->Count(kind, 1))};
}

std::optional<double> InUnits(std::optional<Bandwidth> bandwidth, double unit) {
  return bandwidth ? std::optional(bandwidth->bytes_per_second / unit) : std::nullopt;
}

// Reads a part of a cluster: all of it for the catalogue, or what differs from `base`.
Island ReadIsland(YamlFields fields, const Island* base, YamlFields* latencies_ns) {
  Island island;
  island.kind = fields.Choice<IslandKind>("kind", kIslandKinds, BaseValue(base, &Island::kind));
  island.gpus = fields.Count("gpus", 1, BaseValue(base, &Island::gpus));
  const auto per_gpu = InUnits(BaseValue(base, &Island::per_gpu), 1e9);
  island.per_gpu = {fields.Positive("gpu_gbytes_per_second", per_gpu) * 1e9};
  island.latency = ReadLatency(fields, base, Name(island.kind), latencies_ns);
  island.reduces_in_switch =
      fields.Flag("reduces_in_switch", base != nullptr && base->reduces_in_switch);
  fields.RefuseOthers();
  return island;
}

Nics ReadNics(YamlFields fields, const Nics* base, YamlFields* latencies_ns) {
  Nics nics;
  nics.kind = fields.Choice<NetworkKind>("kind", kNetworkKinds, BaseValue(base, &Nics::kind));
  if (nics.kind != NetworkKind::kNone || base != nullptr) {
    nics.per_node = fields.Count("per_node", 1, BaseValue(base, &Nics::per_node));
    const auto gbits = InUnits(BaseValue(base, &Nics::bandwidth), 1e9 / 8);
    nics.bandwidth = {fields.Positive("gbits_per_second", gbits) * 1e9 / 8};
    nics.latency = ReadLatency(fields, base, Name(nics.kind), latencies_ns);
  }
  fields.RefuseOthers();
  return nics;
}

Fabric ReadFabric(YamlFields fields, const Fabric* base) {
  Fabric fabric = base == nullptr ? Fabric() : *base;
  fabric.preset =
      fields.Choice<FabricPreset>("preset", kFabricPresets, BaseValue(base, &Fabric::preset));
  for (const auto& [key, member] : kFabricCounts) {
    fabric.*member = fields.Count(key, 0, fabric.*member);
  }
  fabric.oversubscription = fields.Positive("oversubscription", fabric.oversubscription);
  fields.RefuseOthers();
  return fabric;
}

std::string ReadGpuName(YamlFields& fields) {
  const std::string name = fields.Text("gpu");
  const Gpu* const gpu = FindGpu(name);
  if (gpu == nullptr || gpu->name != name) {
    fields.Wrong("gpu", "must be a name in the catalogue of GPUs", name);
  }
  return name;
}

// Conditions on several fields.
void CheckTogether(const Cluster& cluster, YamlFields& fields) {
  if (cluster.island.gpus % std::max(cluster.gpus_per_node, 1) != 0) {
    fields.Wrong("island", "must have the GPUs of whole nodes",
                 fmt::format("{} of {} a node", cluster.island.gpus, cluster.gpus_per_node));
  }
  const bool has_network = cluster.nics.kind != NetworkKind::kNone;
  const bool has_fabric = cluster.fabric.preset != FabricPreset::kNone;
  if (has_network != has_fabric) {
    fields.Wrong(
        "fabric",
        has_network ? "must be named where there are NICs" : "must be none where there are no NICs",
        Name(cluster.fabric.preset));
  }
}

Cluster ReadCluster(const YAML::Node& node, std::string place, YamlFields& latencies_ns,
                    std::optional<Error>& first_error) {
  YamlFields fields(node, std::move(place), first_error);
  Cluster cluster;
  cluster.name = fields.Text("name");
  cluster.match = fields.WordLists("match");
  cluster.gpu = ReadGpuName(fields);
  cluster.gpus_per_node = fields.Count("gpus_per_node", 1);
  cluster.nodes = fields.Count("nodes", 1, 0);
  cluster.island = ReadIsland(fields.Map("island"), nullptr, &latencies_ns);
  cluster.nics = ReadNics(fields.Map("nics"), nullptr, &latencies_ns);
  cluster.fabric = ReadFabric(fields.Map("fabric"), nullptr);
  cluster.cpu = fields.Choice<CpuVendor>("cpu", kCpuVendors);
  cluster.host_ratio = fields.Number("host_ratio", 0.1, cluster.host_ratio);
  cluster.pcie_generation = fields.Count("pcie_generation", 1);
  cluster.nccl_version = fields.Text("nccl_version", "");
  cluster.source = fields.Text("source");
  fields.RefuseOthers();
  CheckTogether(cluster, fields);
  return cluster;
}

std::string PlaceOf(const YAML::Node& node, std::size_t index) {
  if (node.IsMap() && node["name"].IsDefined() && node["name"].IsScalar()) {
    return fmt::format("cluster '{}'", node["name"].Scalar());
  }
  return fmt::format("cluster {}", index + 1);
}

Result<std::vector<Cluster>> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "catalogue of clusters", first_error);
  YamlFields latencies_ns = top.Map("latencies_ns");
  const YAML::Node nodes = top.Node("clusters");
  std::vector<Cluster> clusters;
  std::set<std::string> names;
  for (std::size_t i = 0; nodes.IsSequence() && i < nodes.size() && !first_error; ++i) {
    const std::string place = PlaceOf(nodes[i], i);
    clusters.push_back(ReadCluster(nodes[i], place, latencies_ns, first_error));
    if (!first_error && !names.insert(LowerCase(clusters.back().name)).second) {
      first_error.emplace(Error::Kind::kInvalidInput, place + ": name is used twice");
    }
  }
  if (!first_error && clusters.empty()) {
    top.Wrong("clusters", "must be a list of clusters", "something else");
  }
  if (first_error) {
    return tl::unexpected(*std::move(first_error));
  }
  return clusters;
}

}  // namespace

Result<std::vector<Cluster>> ReadClusters(const std::string& yaml) {
  try {
    return ReadAll(YAML::Load(yaml));
  } catch (const YAML::Exception& exception) {
    return Invalid("catalogue of clusters: line {}: {}", exception.mark.line + 1, exception.msg);
  }
}

Cluster OverrideCluster(YamlFields& fields, Cluster base) {
  // The island of a node grows and shrinks with it; one that spans nodes does not.
  const bool is_of_node = base.island.gpus == base.gpus_per_node;
  base.gpus_per_node = fields.Count("gpus_per_node", 1, base.gpus_per_node);
  base.island.gpus = is_of_node ? base.gpus_per_node : base.island.gpus;
  base.nodes = fields.Count("nodes", 0, base.nodes);
  fields.Expect({"island", "nics", "fabric"});
  if (fields.Has("island")) {
    base.island = ReadIsland(fields.Map("island"), &base.island, nullptr);
  }
  if (fields.Has("nics")) {
    base.nics = ReadNics(fields.Map("nics"), &base.nics, nullptr);
  }
  if (fields.Has("fabric")) {
    base.fabric = ReadFabric(fields.Map("fabric"), &base.fabric);
  }
  base.cpu = fields.Choice<CpuVendor>("cpu", kCpuVendors, base.cpu);
  base.host_ratio = fields.Number("host_ratio", 0.1, base.host_ratio);
  base.pcie_generation = fields.Count("pcie_generation", 1, base.pcie_generation);
  base.nccl_version = fields.Text("nccl_version", base.nccl_version);
  CheckTogether(base, fields);
  return base;
}

std::string_view Name(IslandKind kind) {
  return SpellingOf(kind, kIslandKinds);
}

std::string_view Name(NetworkKind kind) {
  return SpellingOf(kind, kNetworkKinds);
}

std::string_view Name(FabricPreset preset) {
  return SpellingOf(preset, kFabricPresets);
}

std::string_view Name(CpuVendor vendor) {
  return SpellingOf(vendor, kCpuVendors);
}

const std::vector<Cluster>& ClusterCatalogue() {
  static const std::vector<Cluster> catalogue = [] {
    auto clusters = ReadClusters(kEmbeddedClusters);
    ORRERY_CHECK(clusters.has_value(), clusters.error().message());
    return *std::move(clusters);
  }();
  return catalogue;
}

const Cluster* FindCluster(std::string_view name) {
  const auto& clusters = ClusterCatalogue();
  auto found = std::ranges::find_if(
      clusters, [&](const Cluster& cluster) { return SameIgnoringCase(cluster.name, name); });
  if (found == clusters.end()) {
    found = std::ranges::find_if(
        clusters, [&](const Cluster& cluster) { return IsCalled(name, cluster.match); });
  }
  return found == clusters.end() ? nullptr : &*found;
}

}  // namespace orrery::hardware
