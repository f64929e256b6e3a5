#pragma once

#include <map>
#include <span>
#include <utility>

#include "orrery/base/error.h"
#include "orrery/collective/channels_used.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/flow_level.h"
#include "orrery/collective/measured_times.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {

/// How long a collective takes, whatever knows it. One object serves one thread.
class CollectiveCost {
 public:
  CollectiveCost() = default;
  CollectiveCost(const CollectiveCost&) = delete;
  CollectiveCost& operator=(const CollectiveCost&) = delete;
  virtual ~CollectiveCost() = default;

  /// Rank i is on GPU gpu_of_rank[i]; GPUs count on from node to node.
  [[nodiscard]] virtual Result<double> Seconds(const Request& request,
                                               std::span<const network::GpuId> gpu_of_rank) = 0;
};

/// A machine and how NCCL is told to use it. The cluster and the tables must outlive it.
struct CostSettings {
  const hardware::Cluster* cluster = nullptr;
  MachineConstants constants = DefaultConstants();
  NcclSettings nccl{};
  const TunerTables* tables = &NewestTunerTables();
};

/// The fabric that the ranks of a group see, from how many there are on how many islands.
class FabricMemo {
 public:
  explicit FabricMemo(const hardware::Cluster& cluster) : cluster_(cluster) {}

  [[nodiscard]] Result<Fabric> Find(std::span<const network::GpuId> gpu_of_rank);

 private:
  const hardware::Cluster& cluster_;
  std::map<std::pair<int, int>, Fabric> fabric_of_ranks_;  // by ranks and most ranks of an island
};

/// What some members of a group hold back: links that are slower than the cluster's or down.
struct LinkLimits {
  double link_share = 1;     // of the links of a GPU, at the slowest member
  double network_share = 1;  // of the NICs of an island, at the slowest island
  Bandwidth host_link{};     // between a GPU and its NIC, at the slowest member; 0: fast enough
  bool reduces_in_switch = true;  // all members can have the switch add up

  bool operator==(const LinkLimits&) const = default;
};

/// What NCCL's kernel of a collective is on each GPU that takes part.
struct KernelShape {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  ChannelsUsed used{};  // a channel is a thread block
  Bytes step{};         // payload between two looks at flags
};

/// The calibrated closed form: about a microsecond, no other traffic.
class ClosedFormCost final : public CollectiveCost {
 public:
  explicit ClosedFormCost(const CostSettings& settings)
      : settings_(settings), fabrics_(*settings.cluster) {}

  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank) override;

  /// The same where members hold it back. NCCL chooses its candidate by what links should carry, so that
  /// tighter limits never make a collective faster.
  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank,
                                       const LinkLimits& limits);

  /// The kernel that such a collective is.
  [[nodiscard]] Result<KernelShape> ShapeOf(const Request& request,
                                            std::span<const network::GpuId> gpu_of_rank);

 private:
  CostSettings settings_;
  FabricMemo fabrics_;
};

/// Flows over a topology, which may differ from the cluster's in links that are slow or down. The
/// machine's constants say what is reached of links and what hops cost; latency and transfer add
/// up.
class FlowLevelCost final : public CollectiveCost {
 public:
  /// `options` may add traffic and congestion; its shares and latencies are not used.
  FlowLevelCost(const CostSettings& settings, FlowNetwork& network, FlowLevelOptions options = {})
      : settings_(settings), network_(network), options_(options), fabrics_(*settings.cluster) {}

  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank) override;

  /// The same with the link that is waited for.
  [[nodiscard]] Result<FlowLevelTime> Time(const Request& request,
                                           std::span<const network::GpuId> gpu_of_rank);

 private:
  CostSettings settings_;
  FlowNetwork& network_;
  FlowLevelOptions options_;
  FabricMemo fabrics_;
};

/// What was measured, by number of GPUs; where they are is not asked.
class MeasuredCost final : public CollectiveCost {
 public:
  explicit MeasuredCost(MeasuredTimes times) : times_(std::move(times)) {}

  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank) override;

 private:
  MeasuredTimes times_;
};

/// What a candidate reaches of the links of a cluster's topology, and what its hops cost.
[[nodiscard]] WireShares SharesOf(const AlgorithmCosts& costs, const Fabric& fabric,
                                  const CostSettings& settings);
[[nodiscard]] HopLatencies LatenciesOf(const AlgorithmCosts& costs);

}  // namespace orrery::collective
