#include "orrery/collective/fabric.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/math/round_up.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"

namespace orrery::collective {
namespace {

using hardware::Cluster;
using hardware::IslandKind;

constexpr double kGiga = 1e9;

// By compute capability, as NCCL does: Turing (7.5) counts as Volta, Ada (8.9) as Ampere.
GpuGeneration GenerationOf(const Cluster& cluster) {
  const hardware::Gpu* const gpu = hardware::FindGpu(cluster.gpu);
  constexpr std::pair<std::string_view, GpuGeneration> kNames[] = {
      {"volta", GpuGeneration::kVolta},   {"turing", GpuGeneration::kVolta},
      {"ampere", GpuGeneration::kAmpere}, {"ada", GpuGeneration::kAmpere},
      {"hopper", GpuGeneration::kHopper}, {"blackwell", GpuGeneration::kBlackwell}};
  for (const auto& [name, generation] : kNames) {
    if (gpu != nullptr && gpu->generation == name) {
      return generation;
    }
  }
  return GpuGeneration::kOther;
}

// The share of a GPU's links to the ranks of its node: all through a switch; without one, links to
// other GPUs are unused.
double UsableShare(const hardware::Island& island, int ranks) {
  if (ranks <= 1) {
    return 1;
  }
  switch (island.kind) {
    case IslandKind::kNvlinkMesh:
    case IslandKind::kInfinityFabric:
    case IslandKind::kHccs:
      return static_cast<double>(ranks - 1) / std::max(island.gpus - 1, 1);
    case IslandKind::kNvlinkCubeMesh: {
      const auto& rings = EmbeddedChannelTables().cube_mesh_rings;
      const auto found = rings.find(ranks);
      return found == rings.end() ? 1 : static_cast<double>(found->second) / rings.rbegin()->second;
    }
    case IslandKind::kNvswitch:
    case IslandKind::kPcie:
    case IslandKind::kNeuronlink:
      return 1;
  }
  return 1;
}

void SetLinks(const Cluster& cluster, Fabric& fabric) {
  const double share = UsableShare(cluster.island, fabric.ranks_per_node);
  const bool pcie = cluster.island.kind == IslandKind::kPcie;
  fabric.intra = pcie ? IntraLink::kPcie : IntraLink::kNvlink;
  fabric.physical_link = {cluster.island.per_gpu.bytes_per_second * share};
  const auto& nvlink_share = EmbeddedChannelTables().nvlink_share;
  fabric.gpu_link = {pcie ? PcieGbps(cluster.pcie_generation) * kGiga
                          : fabric.physical_link.bytes_per_second *
                                nvlink_share[static_cast<std::size_t>(fabric.generation)]};
  fabric.has_nvls = cluster.island.reduces_in_switch;
}

bool HasRccl(const Cluster& cluster) {
  const hardware::Gpu* const gpu = hardware::FindGpu(cluster.gpu);
  return gpu != nullptr && gpu->vendor == "amd";
}

void SetNetwork(const Cluster& cluster, Fabric& fabric) {
  const hardware::Nics& nics = cluster.nics;
  if (nics.kind == hardware::NetworkKind::kNone) {
    return;
  }
  const int distinct = std::min(nics.per_node, cluster.gpus_per_node);
  fabric.nic = {nics.bandwidth.bytes_per_second * nics.per_node / distinct};
  fabric.nics =
      (fabric.ranks_per_node * distinct + cluster.gpus_per_node - 1) / cluster.gpus_per_node;
  const auto& latencies = EmbeddedChannelTables().nic_latency_us;
  const auto latency = latencies.find(std::string(Name(nics.kind)));
  fabric.nic_latency_us = latency == latencies.end() ? 0 : latency->second;
}

void SetGraphs(Fabric& fabric) {
  const SearchSpace space{.generation = fabric.generation,
                          .nodes = fabric.nodes,
                          .ranks_per_node = fabric.ranks_per_node,
                          .gpu_link = fabric.gpu_link.bytes_per_second / kGiga,
                          .nic = std::min(fabric.nic.bytes_per_second / kGiga, fabric.pcie_gbps),
                          .nics = fabric.nics};
  fabric.rings = SearchRings(space);
  if (fabric.has_nvls) {
    fabric.nvls = SearchNvls(space);
  }
}

Status CheckPlacement(const Cluster& cluster, const Placement& placement, int per_node) {
  if (placement.gpus < 1 || placement.gpus_per_node < 0) {
    return Invalid("a collective needs at least one GPU, not {}",
                   std::min(placement.gpus, placement.gpus_per_node));
  }
  if (per_node > cluster.island.gpus) {
    return Invalid("{} joins {} GPUs without a NIC, not {}", cluster.name, cluster.island.gpus,
                   per_node);
  }
  const int islands = (placement.gpus + per_node - 1) / per_node;
  const bool has_network = cluster.nics.kind != hardware::NetworkKind::kNone;
  const std::int64_t most = static_cast<std::int64_t>(cluster.nodes) * cluster.gpus_per_node;
  const std::int64_t asked = static_cast<std::int64_t>(islands - 1) * cluster.island.gpus +
                             (placement.gpus - (islands - 1) * per_node);
  if ((cluster.nodes > 0 && asked > most) || (!has_network && islands > 1)) {
    return Invalid("{} has {} GPUs, not {}", cluster.name, has_network ? most : cluster.island.gpus,
                   asked);
  }
  return {};
}

constexpr double kPeersOfARound = 8;

struct Sizes {
  double n = 1;  // ranks
  double m = 1;  // nodes
  double k = 1;  // ranks of a node
};

double FloorLog2(double count) {
  return std::bit_width(static_cast<unsigned>(count)) - 1;
}

bool IsOneWay(CollectiveKind kind) {
  return kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kBarrier;
}

// All-reduce traverses the ring twice: reduce-scatter, then all-gather.
Shape RingShape(CollectiveKind kind, const Sizes& sizes) {
  const double rounds = IsOneWay(kind) ? 1 : 2;
  const bool has_root = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
  const double traffic = has_root ? 1 : rounds * (sizes.n - 1) / sizes.n;
  const double inter_steps = rounds * (sizes.m - 1);
  return {.intra_steps = rounds * (sizes.n - 1) - inter_steps,
          .inter_steps = inter_steps,
          .intra_traffic = sizes.k > 1 ? traffic : 0,
          .inter_traffic = sizes.m > 1 ? traffic : 0};
}

// Traffic of a node in a tree of nodes: of two nodes, each sends its part once; an inner node of
// many sends once up and once to each of two children, a leaf only up.
double TreeTraffic(double nodes) {
  return nodes <= 1 ? 0 : nodes <= 2 ? 1 : nodes <= 3 ? 1.5 : 2;
}

Shape TreeShape(const Sizes& sizes) {
  return {.intra_steps = 2 * (sizes.k - 1),
          .inter_steps = 2 * FloorLog2(sizes.m),
          .intra_traffic = 2 * (sizes.k - 1) / sizes.k,
          .inter_traffic = TreeTraffic(sizes.m)};
}

double NvlsTraffic(CollectiveKind kind, const Sizes& sizes) {
  return IsOneWay(kind) ? (sizes.k - 1) / sizes.k : (sizes.k + 1) / sizes.k;
}

Shape NvlsShape(CollectiveKind kind, const Sizes& sizes) {
  const double between = sizes.m > 1 ? 1 : 0;
  return {.intra_steps = 1,
          .inter_steps = between,
          .intra_traffic = NvlsTraffic(kind, sizes),
          .inter_traffic = between};
}

Shape NvlsTreeShape(CollectiveKind kind, const Sizes& sizes) {
  return {.intra_steps = 1,
          .inter_steps = 2 * FloorLog2(sizes.m),
          .intra_traffic = NvlsTraffic(kind, sizes),
          .inter_traffic = TreeTraffic(sizes.m)};
}

Shape CollnetShape(Algorithm algorithm, CollectiveKind kind, const Sizes& sizes) {
  const double candidates = IsOneWay(kind) ? 1 : 2;
  const bool chain = algorithm == Algorithm::kCollnetChain;
  return {.intra_steps = candidates * (chain ? sizes.k - 1 : std::min(1.0, sizes.k - 1)),
          .inter_steps = sizes.m > 1 ? 1.0 : 0.0,
          .intra_traffic = candidates * (sizes.k - 1) / sizes.k,
          .inter_traffic = sizes.m > 1 ? 1.0 : 0.0};
}

// Inside the node over K ranks, and along K rails over M nodes.
Shape HierarchicalShape(CollectiveKind kind, const Sizes& sizes) {
  const double candidates = IsOneWay(kind) ? 1 : 2;
  return {.intra_steps = candidates * (sizes.k - 1),
          .inter_steps = candidates * (sizes.m - 1),
          .intra_traffic = candidates * (sizes.k - 1) / sizes.k,
          .inter_traffic = candidates * (sizes.m - 1) / sizes.m};
}

Shape DirectShape(CollectiveKind kind, const Sizes& sizes) {
  if (kind != CollectiveKind::kAllToAll) {
    // Each rank sends to one other. All of a node may send to another one at once.
    const double between = sizes.m > 1 ? 1 : 0;
    return {.intra_steps = 1 - between,
            .inter_steps = between,
            .intra_traffic = sizes.k > 1 ? 1.0 : 0.0,
            .inter_traffic = between * sizes.k};
  }
  return {.intra_steps = std::ceil((sizes.k - 1) / kPeersOfARound),
          .inter_steps = std::ceil((sizes.n - sizes.k) / kPeersOfARound),
          .intra_traffic = (sizes.k - 1) / sizes.n,
          .inter_traffic = sizes.k * (sizes.n - sizes.k) / sizes.n};
}

constexpr int kWarp = 32;
constexpr int kMostThreads = 640;
constexpr std::int64_t kSimpleBuffer = std::int64_t{4} << 20;
constexpr std::int64_t kStepsOfBuffer = 8;
constexpr std::int64_t kLlStepPayload = 32'768;      // half of 64 KiB are flags
constexpr std::int64_t kLl128StepPayload = 576'000;  // 120 of 128 bytes of 614,400

bool IsNvls(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
}

bool IsCollnet(Algorithm algorithm) {
  return algorithm == Algorithm::kCollnetDirect || algorithm == Algorithm::kCollnetChain;
}

int AllChannels(const Fabric& fabric, Algorithm algorithm, const NcclSettings& settings) {
  const auto generation = static_cast<std::size_t>(fabric.generation);
  std::int64_t channels =
      IsNvls(algorithm)
          ? EmbeddedChannelTables().nvls_channels[generation][fabric.nodes == 1 ? 0 : 1]
          : DoubledChannels(fabric.rings, fabric.generation, fabric.nodes);
  channels = std::max(channels, settings.min_channels.value_or(1));
  return static_cast<int>(std::min(channels, settings.max_channels.value_or(channels)));
}

// The least bytes per thread for another channel.
std::int64_t Threshold(const Fabric& fabric, Algorithm algorithm, Protocol protocol) {
  if (IsCollnet(algorithm)) {
    return 512;
  }
  if (protocol == Protocol::kSimple) {
    return 64;
  }
  const bool ring_ll = algorithm == Algorithm::kRing && protocol == Protocol::kLl;
  return ring_ll ? 8 * std::int64_t{fabric.ranks} : 8;
}

int WithSynchronisation(Algorithm algorithm, Protocol protocol, int threads) {
  if (protocol == Protocol::kSimple && algorithm == Algorithm::kRing) {
    threads += kWarp;
  }
  const bool needs_all = algorithm == Algorithm::kPat ||
                         (protocol == Protocol::kSimple && algorithm == Algorithm::kTree);
  return needs_all ? kMostThreads : std::max(threads, 3 * kWarp);
}

}  // namespace

Result<Fabric> FabricOf(const Cluster& cluster, const Placement& placement) {
  const int per_node = placement.gpus_per_node > 0 ? placement.gpus_per_node : cluster.island.gpus;
  ORRERY_TRY_STATUS(CheckPlacement(cluster, placement, per_node));
  Fabric fabric;
  fabric.ranks = placement.gpus;
  fabric.nodes = (placement.gpus + per_node - 1) / per_node;
  fabric.ranks_per_node = fabric.ranks / fabric.nodes;
  fabric.generation = GenerationOf(cluster);
  fabric.has_rccl = HasRccl(cluster);
  fabric.cpu = cluster.cpu;
  SetLinks(cluster, fabric);
  SetNetwork(cluster, fabric);
  fabric.ranks_of_host = cluster.island.gpus > cluster.gpus_per_node ? cluster.gpus_per_node : 0;
  fabric.pcie_gbps = PcieGbps(cluster.pcie_generation);
  SetGraphs(fabric);
  return fabric;
}

Fabric OnNodes(const Fabric& fabric, int nodes) {
  Fabric other = fabric;
  other.nodes = nodes;
  other.ranks = nodes * fabric.ranks_per_node;
  SetGraphs(other);
  return other;
}

Fabric OfOneNode(const Fabric& fabric, int ranks) {
  Fabric other = fabric;
  other.nodes = 1;
  other.ranks = ranks;
  other.ranks_per_node = ranks;
  SetGraphs(other);
  return other;
}

Fabric Limited(Fabric fabric, const LinkLimits& limits) {
  fabric.gpu_link.bytes_per_second *= limits.link_share;
  fabric.physical_link.bytes_per_second *= limits.link_share;
  fabric.nic.bytes_per_second *= limits.network_share;
  if (limits.host_link.bytes_per_second > 0 && fabric.nics > 0) {
    const double entering = limits.host_link.bytes_per_second * fabric.ranks_per_node;
    fabric.nic.bytes_per_second = std::min(fabric.nic.bytes_per_second, entering / fabric.nics);
  }
  return fabric;
}

Shape ShapeOf(const Fabric& fabric, CollectiveKind kind, Algorithm algorithm) {
  if (fabric.ranks <= 1) {
    return {};
  }
  const Sizes sizes{.n = static_cast<double>(fabric.ranks),
                    .m = static_cast<double>(fabric.nodes),
                    .k = static_cast<double>(fabric.ranks_per_node)};
  switch (algorithm) {
    case Algorithm::kRing:
      return RingShape(kind, sizes);
    case Algorithm::kTree:
      return TreeShape(sizes);
    case Algorithm::kCollnetDirect:
    case Algorithm::kCollnetChain:
      return CollnetShape(algorithm, kind, sizes);
    case Algorithm::kNvls:
      return NvlsShape(kind, sizes);
    case Algorithm::kNvlsTree:
      return NvlsTreeShape(kind, sizes);
    case Algorithm::kPat:
      return {.inter_steps = std::ceil(std::log2(sizes.n)),
              .inter_traffic = (sizes.n - 1) / sizes.n};
    case Algorithm::kHierarchical:
      return HierarchicalShape(kind, sizes);
    case Algorithm::kDirect:
      return DirectShape(kind, sizes);
  }
  return {};
}

ChannelsUsed ChannelsFor(const Fabric& fabric, const Request& request, Algorithm algorithm,
                         Protocol protocol, const NcclSettings& settings) {
  const bool is_wide = protocol == Protocol::kLl128 || IsNvls(algorithm) || IsCollnet(algorithm);
  const ChannelTables& tables = EmbeddedChannelTables();
  const int of_message = fabric.nodes > 1 ? tables.p2p_network_channels : tables.p2p_node_channels;
  ChannelsUsed used{.channels = request.kind == CollectiveKind::kSendRecv
                                    ? of_message
                                    : AllChannels(fabric, algorithm, settings),
                    .threads = is_wide ? kMostThreads : 512};
  const std::int64_t threshold = Threshold(fabric, algorithm, protocol);
  const auto has_little = [&] {
    return request.size.count < std::int64_t{used.channels} * used.threads * threshold;
  };
  if (!IsNvls(algorithm)) {
    while (has_little() && used.channels > 1) {
      --used.channels;
    }
    while (has_little() && !IsCollnet(algorithm) && used.threads % 128 == 0) {
      used.threads /= 2;
    }
  }
  used.threads = WithSynchronisation(algorithm, protocol, used.threads);
  return used;
}

Protocol DirectProtocol(const Fabric& fabric, const Request& request) {
  const ChannelTables& tables = EmbeddedChannelTables();
  const bool all_to_all = request.kind == CollectiveKind::kAllToAll;
  const std::int64_t message = request.size.count / (all_to_all ? std::max(fabric.ranks, 1) : 1);
  const std::int64_t parts = DivideUp(message, tables.p2p_least_part_bytes);
  const std::int64_t channels =
      std::clamp<std::int64_t>(parts, 1, std::max(fabric.rings.channels, 1));
  return message <= channels * tables.p2p_ll_threshold_bytes ? Protocol::kLl : Protocol::kSimple;
}

Bytes StepPayload(Protocol protocol, const NcclSettings& settings) {
  switch (protocol) {
    case Protocol::kLl:
      return {kLlStepPayload};
    case Protocol::kLl128:
      return {kLl128StepPayload};
    case Protocol::kSimple:
      return {settings.buffer.value_or(Bytes{kSimpleBuffer}).count / kStepsOfBuffer};
  }
  return {};
}

}  // namespace orrery::collective
