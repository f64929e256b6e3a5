#pragma once

#include <map>
#include <span>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/collective/channels_used.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/flow_level.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {

/// A machine and the settings of NCCL. The cluster and the tables must outlive it.
struct CostSettings {
  const hardware::Cluster* cluster = nullptr;
  MachineConstants constants = DefaultConstants();
  NcclSettings nccl{};
  const TunerTables* tables = &NewestTunerTables();
};

/// Fabrics of groups, by their number of ranks and of ranks per island.
class FabricMemo {
 public:
  explicit FabricMemo(const hardware::Cluster& cluster) : cluster_(cluster) {}

  [[nodiscard]] Result<Fabric> Find(std::span<const network::GpuId> gpu_of_rank);

 private:
  const hardware::Cluster& cluster_;
  std::map<std::pair<int, int>, Fabric> fabric_of_ranks_;  // by ranks and most ranks of an island
};

/// Links of some members of a group that are slower than the cluster's or down.
struct LinkLimits {
  double link_share = 1;     // of the links of a GPU, at the slowest member
  double network_share = 1;  // of the NICs of an island, at the slowest island
  Bandwidth host_link{};     // between a GPU and its NIC, at the slowest member; 0: fast enough
  bool reduces_in_switch = true;  // the switch can reduce for all members

  bool operator==(const LinkLimits&) const = default;
};

/// NCCL's kernel of a collective on each participating GPU.
struct KernelShape {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  ChannelsUsed used{};  // a channel is a thread block
  Bytes step{};         // payload between two checks of flags
};

/// The calibrated closed form: about a microsecond per call, no other traffic. Serves one thread,
/// as FlowLevelCost does. Rank i is on GPU gpu_of_rank[i]; GPUs are numbered node by node.
class ClosedFormCost {
 public:
  explicit ClosedFormCost(const CostSettings& settings)
      : settings_(settings), fabrics_(*settings.cluster) {}

  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank);

  /// The same with slower links. NCCL chooses by nominal bandwidths, so tighter limits never make a
  /// collective faster.
  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank,
                                       const LinkLimits& limits);

  /// Returns the kernel of the collective.
  [[nodiscard]] Result<KernelShape> ShapeOf(const Request& request,
                                            std::span<const network::GpuId> gpu_of_rank);

 private:
  CostSettings settings_;
  FabricMemo fabrics_;
};

/// Flows over a topology, which may differ from the cluster's in links that are slow or down. The
/// machine's constants give the efficiency of links and the latency of hops; latency and transfer
/// are added.
class FlowLevelCost {
 public:
  /// `options` may add traffic and congestion; its shares and latencies are ignored.
  FlowLevelCost(const CostSettings& settings, FlowNetwork& network, FlowLevelOptions options = {})
      : settings_(settings), network_(network), options_(options), fabrics_(*settings.cluster) {}

  [[nodiscard]] Result<FlowLevelTime> Time(const Request& request,
                                           std::span<const network::GpuId> gpu_of_rank);

 private:
  CostSettings settings_;
  FlowNetwork& network_;
  FlowLevelOptions options_;
  FabricMemo fabrics_;
};

}  // namespace orrery::collective
