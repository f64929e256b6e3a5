#include "orrery/collective/fabric.h"

#include <algorithm>
#include <string>

#include <fmt/core.h>

#include "orrery/collective/channel_tables.h"
#include "orrery/hardware/gpu.h"

namespace orrery::collective {
namespace {

using hardware::Cluster;
using hardware::IslandKind;

constexpr double kGiga = 1e9;

// By compute capability, as NCCL does: Turing (7.5) counts as Volta, Ada (8.9) as Ampere.
GpuGeneration GenerationOf(const Cluster& cluster) {
  const hardware::Gpu* const gpu = hardware::FindGpu(cluster.gpu);
  const std::string name = gpu == nullptr ? "" : gpu->generation;
  if (name == "volta" || name == "turing") {
    return GpuGeneration::kVolta;
  }
  if (name == "ampere" || name == "ada") {
    return GpuGeneration::kAmpere;
  }
  if (name == "hopper") {
    return GpuGeneration::kHopper;
  }
  return name == "blackwell" ? GpuGeneration::kBlackwell : GpuGeneration::kOther;
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
      return static_cast<double>(ranks - 1) / std::max(island.gpus - 1, 1);
    case IslandKind::kNvlinkCubeMesh: {
      const auto& rings = EmbeddedChannelTables().cube_mesh_rings;
      const auto found = rings.find(ranks);
      return found == rings.end() ? 1 : static_cast<double>(found->second) / rings.rbegin()->second;
    }
    case IslandKind::kNvswitch:
    case IslandKind::kPcie:
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

void SetGraphs(const Cluster& cluster, Fabric& fabric) {
  const SearchSpace space{
      .generation = fabric.generation,
      .nodes = fabric.nodes,
      .ranks_per_node = fabric.ranks_per_node,
      .gpu_link = fabric.gpu_link.bytes_per_second / kGiga,
      .nic = std::min(fabric.nic.bytes_per_second / kGiga, PcieGbps(cluster.pcie_generation)),
      .nics = fabric.nics};
  fabric.rings = SearchRings(space);
  if (fabric.has_nvls) {
    fabric.nvls = SearchNvls(space);
  }
}

Status CheckPlacement(const Cluster& cluster, const Placement& placement, int per_node) {
  if (placement.gpus < 1 || placement.gpus_per_node < 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a collective needs at least one GPU, not {}",
                            std::min(placement.gpus, placement.gpus_per_node)));
  }
  if (per_node > cluster.island.gpus) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} joins {} GPUs without a NIC, not {}", cluster.name,
                            cluster.island.gpus, per_node));
  }
  const int islands = (placement.gpus + per_node - 1) / per_node;
  const bool has_network = cluster.nics.kind != hardware::NetworkKind::kNone;
  const std::int64_t most = static_cast<std::int64_t>(cluster.nodes) * cluster.gpus_per_node;
  const std::int64_t asked = static_cast<std::int64_t>(islands - 1) * cluster.island.gpus +
                             (placement.gpus - (islands - 1) * per_node);
  if ((cluster.nodes > 0 && asked > most) || (!has_network && islands > 1)) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} has {} GPUs, not {}", cluster.name,
                            has_network ? most : cluster.island.gpus, asked));
  }
  return {};
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
  fabric.cpu = cluster.cpu;
  SetLinks(cluster, fabric);
  SetNetwork(cluster, fabric);
  SetGraphs(cluster, fabric);
  return fabric;
}

}  // namespace orrery::collective
