#pragma once

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
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
  int ranks_of_host = 0;   // set if an island spans hosts (NVL72)
  GpuGeneration generation = GpuGeneration::kOther;
  bool has_rccl = false;  // AMD's library, which chooses by constants of its own
  IntraLink intra = IntraLink::kNvlink;
  Bandwidth gpu_link{};       // inside a node, of a GPU, one direction, according to NCCL
  Bandwidth physical_link{};  // the same according to the vendor
  Bandwidth nic{};            // of one, one direction; several that serve one GPU count as one
  int nics = 0;               // used by the ranks of a node
  hardware::CpuVendor cpu = hardware::CpuVendor::kIntel;
  bool has_nvls = false;         // the switch inside a node reduces
  bool network_reduces = false;  // SHARP and its like, for CollNet
  double nic_latency_us = 0;     // as reported by the network plugin
  double pcie_gbps = 0;          // between a GPU and its NIC, according to NCCL
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

/// The same machine with as many ranks on each of this many nodes.
[[nodiscard]] Fabric OnNodes(const Fabric& fabric, int nodes);

/// The ranks of one node, fewer of them.
[[nodiscard]] Fabric OfOneNode(const Fabric& fabric, int ranks);

/// Links of some members of a group that are slower than the cluster's or down.
struct LinkLimits {
  double link_share = 1;     // of the links of a GPU, at the slowest member
  double network_share = 1;  // of the NICs of an island, at the slowest island
  Bandwidth host_link{};     // between a GPU and its NIC, at the slowest member; 0: fast enough
  bool reduces_in_switch = true;  // the switch can reduce for all members

  bool operator==(const LinkLimits&) const = default;
};

/// The fabric with the bandwidths that the limits leave, its channels unchanged.
[[nodiscard]] Fabric Limited(Fabric fabric, const LinkLimits& limits);

/// The structure of a collective algorithm without constants. With fitted constants the closed form
/// is
///   start + intra_steps * a_intra + inter_steps * a_inter
///         + size * max(intra_traffic / a GPU's link, inter_traffic / NICs of a node).
struct Shape {
  double intra_steps = 0;    // sequential hops inside nodes
  double inter_steps = 0;    // sequential hops between nodes
  double intra_traffic = 0;  // over the links of one GPU, one direction, as a multiple of the size
  double inter_traffic = 0;  // over all NICs of one node, one direction, as a multiple of the size

  bool operator==(const Shape&) const = default;
};

/// Returns the structure of any pair that some library uses; a group of one rank has none. Tree:
/// mean traffic of a GPU over NCCL's two trees. NVLS: each value crosses the links of its owner
/// twice. Direct: at most eight peers at once, all at the rate of the slowest.
[[nodiscard]] Shape ShapeOf(const Fabric& fabric, CollectiveKind kind, Algorithm algorithm);

struct ChannelsUsed {
  int channels = 1;
  int threads = 512;  // per channel

  bool operator==(const ChannelsUsed&) const = default;
};

/// Returns the channels and threads that NCCL uses for a request: fewer channels, then fewer
/// threads, until each thread has enough work.
[[nodiscard]] ChannelsUsed ChannelsFor(const Fabric& fabric, const Request& request,
                                       Algorithm algorithm, Protocol protocol,
                                       const NcclSettings& settings);

/// Returns the protocol of send and receive, including all-to-all: LL for small messages.
[[nodiscard]] Protocol DirectProtocol(const Fabric& fabric, const Request& request);

/// Returns the payload of one of the eight steps of a channel's buffer. `settings` may set the
/// buffer of Simple; LL and LL128 have their own.
[[nodiscard]] Bytes StepPayload(Protocol protocol, const NcclSettings& settings);

}  // namespace orrery::collective
