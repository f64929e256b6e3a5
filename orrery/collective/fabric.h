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

/// The inputs of the closed form: ranks of a collective and the links between them. A "node" is an
/// island: GPUs that reach each other without a NIC.
struct Fabric {
  int ranks = 1;
  int nodes = 1;
  int ranks_per_node = 1;  // ranks / nodes, rounded down as NCCL does
  GpuGeneration generation = GpuGeneration::kOther;
  IntraLink intra = IntraLink::kNvlink;
  Bandwidth gpu_link{};       // inside a node, of a GPU, one direction, according to NCCL
  Bandwidth physical_link{};  // the same according to the vendor
  Bandwidth nic{};            // of one, one direction; several that serve one GPU count as one
  int nics = 0;               // used by the ranks of a node
  hardware::CpuVendor cpu = hardware::CpuVendor::kIntel;
  bool has_nvls = false;         // the switch inside a node reduces
  bool network_reduces = false;  // SHARP and its like, for CollNet
  double nic_latency_us = 0;     // as reported by the network plugin
  ChannelGraph rings{};          // serve trees too
  ChannelGraph nvls{};           // one channel for each rank of a node; none without has_nvls

  /// The bandwidth of the NICs used by the ranks of a node, one direction.
  [[nodiscard]] Bandwidth node_network() const { return {nic.bytes_per_second * nics}; }
};

/// The participating ranks: node by node, all nodes full except possibly the last.
struct Placement {
  int gpus = 1;
  int gpus_per_node = 0;  // 0: as many as an island has
};

/// Returns the fabric of a placement. Fails for less than one GPU, for more than
/// the cluster has, and for several nodes where there is no network.
[[nodiscard]] Result<Fabric> FabricOf(const hardware::Cluster& cluster, const Placement& placement);

}  // namespace orrery::collective
