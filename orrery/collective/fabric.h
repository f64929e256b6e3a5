#pragma once

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/channel_search.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {

enum class IntraLink {
  kNvlink,  // or a fabric like it
  kPcie,
};

/// What a closed form sees of the ranks of a collective and of what joins them. A "node" is an
/// island: GPUs that reach each other without a NIC.
struct Fabric {
  int ranks = 1;
  int nodes = 1;
  int ranks_per_node = 1;  // ranks / nodes, rounded down as NCCL does
  GpuGeneration generation = GpuGeneration::kOther;
  IntraLink intra = IntraLink::kNvlink;
  Bandwidth gpu_link{};       // inside a node, of a GPU, one direction, as NCCL counts it
  Bandwidth physical_link{};  // the same as the maker says
  Bandwidth nic{};            // of one, one direction; several that serve one GPU count as one
  int nics = 0;               // that the ranks of a node use: each rank brings its share
  hardware::CpuVendor cpu = hardware::CpuVendor::kIntel;
  bool has_nvls = false;         // the switch inside a node reduces
  bool network_reduces = false;  // SHARP and its like, for CollNet
  double nic_latency_us = 0;     // as the network's plugin tells NCCL
  ChannelGraph rings{};          // serve trees too
  ChannelGraph nvls{};           // one channel for each rank of a node; none without has_nvls

  /// What the NICs that the ranks of a node use carry, one direction.
  [[nodiscard]] Bandwidth node_network() const { return {nic.bytes_per_second * nics}; }
};

/// Which ranks take part: node by node, all nodes full but perhaps the last.
struct Placement {
  int gpus = 1;
  int gpus_per_node = 0;  // 0: as many as an island has
};

/// Returns what the closed form sees of a placement. Fails for less than one GPU, for more than
/// the cluster has, and for several nodes where there is no network.
[[nodiscard]] Result<Fabric> FabricOf(const hardware::Cluster& cluster, const Placement& placement);

}  // namespace orrery::collective
