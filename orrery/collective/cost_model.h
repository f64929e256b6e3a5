#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/flow/flow_plan.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/congestion.h"
#include "orrery/network/flow_simulation.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

struct WireShares {
  double link = 1;     // inside islands
  double network = 1;  // of links that leave them, including the path to the NIC

  bool operator==(const WireShares&) const = default;
};

struct FlowNetworkOptions {
  /// NCCL changes rails inside the island.
  network::RoutingOptions routing{.change_rail_in_island = true};
  /// Every flow is spread over all shortest paths, regardless of `routing`.
  bool sprays = false;
};

/// A topology with its routes for collectives. Serves one thread; the topology must outlive it.
class FlowNetwork {
 public:
  explicit FlowNetwork(const network::Topology& topology, FlowNetworkOptions options = {});

  /// Returns the link bytes per byte of a flow: more than 1 where a library reaches only a part of
  /// the bandwidth or edges of the flow share a link. Each link once; valid until the next call.
  [[nodiscard]] Result<std::span<const network::LinkUse>> UsesOf(std::span<const FlowEdge> edges,
                                                                 std::uint64_t label,
                                                                 const WireShares& shares);

  [[nodiscard]] const network::Topology& topology() const { return router_.topology(); }

  [[nodiscard]] network::Router& router() { return router_; }

 private:
  Status AddEdge(const FlowEdge& edge, std::uint64_t label, const WireShares& shares);
  void Use(network::LinkId link, double amount);

  network::Router router_;
  bool sprays_;
  std::vector<network::LinkId> path_;
  std::vector<std::uint32_t> place_of_link_;  // in uses_; kUnused when it has none
  std::vector<network::LinkUse> uses_;
};

struct HopLatencies {
  std::int64_t start_ps = 0;  // once
  std::int64_t intra_ps = 0;  // of a hop inside an island
  std::int64_t inter_ps = 0;  // of a hop between islands

  [[nodiscard]] double Of(const Hops& hops) const;
};

/// Returns the latencies of a placement's links inside islands and between consecutive islands. The
/// start latency of the library is unknown.
[[nodiscard]] Result<HopLatencies> LinkLatencies(const network::Placement& placement,
                                                 FlowNetwork& network);

struct OtherFlow {
  network::GpuId from = 0;
  network::GpuId to = 0;
  double bytes = 0;
  std::int64_t start_ps = 0;  // the collective starts at 0
};

struct FlowLevelOptions {
  FlowPlanOptions plan{};
  WireShares shares{};
  std::optional<HopLatencies> latencies{};               // default: those of the links
  const network::CongestionModel* congestion = nullptr;  // none when null
  double merge_ends_within = 0;                          // see FlowSimulationOptions
  std::span<const OtherFlow> other_traffic{};
};

struct FlowLevelTime {
  double seconds = 0;
  /// The slowest link for the bytes of the collective and other traffic, of those that the
  /// collective used: "nic3 → leaf0". Empty if it used none.
  std::string bottleneck;
  double bottleneck_share = 0;  // share of the time that the collective itself kept it busy
};

/// Returns the time of a collective from its flows. Without other traffic and congestion no
/// simulation is needed: flows of a stage have equal bytes, so max-min sharing gives those on the
/// most loaded link the lowest rate until they end together, and a stage takes as long as its most
/// loaded link. O(links of all paths); else a FlowSimulation. Fails if ranks cannot reach each
/// other or the algorithm does not support the collective.
[[nodiscard]] Result<FlowLevelTime> FlowLevelTimeOf(const Request& request, Algorithm algorithm,
                                                    const network::Placement& placement,
                                                    FlowNetwork& network,
                                                    const FlowLevelOptions& options = {});

/// A collective in progress in a simulation with other traffic. The owner of the simulation
/// advances it and passes ended flows to every run:
///
/// CollectiveRun run(plan, latencies, shares, network, simulation);
/// ORRERY_TRY_STATUS(run.Start(start_ps)); while (!run.end_ps()) {
/// ORRERY_TRY_STATUS(run.Take(simulation.Advance())); }
///
/// The latency of a stage precedes its bytes. All arguments must outlive the run.
class CollectiveRun {
 public:
  CollectiveRun(const FlowPlan& plan, const HopLatencies& latencies, const WireShares& shares,
                FlowNetwork& network, network::FlowSimulation& simulation);

  /// Adds the bytes of the run on each link to `load_of_link`, scaled to its full bandwidth.
  void CountInto(std::vector<double>& load_of_link) { load_of_link_ = &load_of_link; }

  /// Adds the flows of the first stage; `start_ps` is now or later.
  [[nodiscard]] Status Start(std::int64_t start_ps);

  /// Processes ended flows, including those of others; adds the next stage when one is complete.
  [[nodiscard]] Status Take(std::span<const network::FlowEnd> ended);

  /// The end of the collective; nothing while it is in progress.
  [[nodiscard]] std::optional<std::int64_t> end_ps() const { return end_ps_; }

 private:
  /// Adds the next stage that has flows; ends when there is none.
  Status AddStages(std::int64_t start_ps);
  Status AddFlows(const FlowPlan::Stage& stage, std::int64_t start_ps);

  const FlowPlan& plan_;
  HopLatencies latencies_;
  WireShares shares_;
  FlowNetwork& network_;
  network::FlowSimulation& simulation_;
  std::vector<double>* load_of_link_ = nullptr;
  std::size_t stage_ = 0;
  network::FlowId first_flow_ = 0;  // of the stage
  network::FlowId end_flow_ = 0;
  std::size_t unfinished_ = 0;
  std::int64_t last_end_ps_ = 0;
  std::optional<std::int64_t> end_ps_;
};

/// A machine and the settings of NCCL. The cluster and the tables must outlive it.
struct CostSettings {
  const hardware::Cluster* cluster = nullptr;
  MachineConstants constants = DefaultConstants();
  NcclSettings nccl{};
  const TunerTables* tables = &NewestTunerTables();
  std::optional<FormRules> of_node{};  // of groups inside one island, if they differ

  [[nodiscard]] FormsOfMachine forms() const {
    const FormRules rules{constants, nccl, tables};
    return {of_node.value_or(rules), rules};
  }
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

/// The bandwidth that a collective uses on links while it runs alone: its bytes over its time.
/// Bandwidth that libraries do not reach is left to others, so that two collectives with shares of
/// 0.4 fit on one NIC and slow each other down with 0.6.
struct LinkDemand {
  Algorithm algorithm = Algorithm::kRing;
  double link_share = 0;  // of the links of a GPU, inside its island
  double nic_share = 0;   // of one NIC, by each rank
  Bandwidth link{};       // of a GPU, and of one NIC: what the shares are of
  Bandwidth nic{};
};

/// NCCL's kernel of a collective on each participating GPU.
struct KernelShape {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
  ChannelsUsed used{};  // a channel is a thread block
  Bytes step{};         // payload between two checks of flags
};

/// The calibrated closed form: less than a microsecond per call, no other traffic. Serves one
/// thread, as FlowLevelCost does. Rank i is on GPU gpu_of_rank[i]; GPUs are numbered node by node.
class ClosedFormCost {
 public:
  explicit ClosedFormCost(const CostSettings& settings)
      : settings_(settings), fabrics_(*settings.cluster), times_(settings.forms()) {}

  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank);

  /// The same with slower links. NCCL chooses by nominal bandwidths, so tighter limits never make a
  /// collective faster.
  [[nodiscard]] Result<double> Seconds(const Request& request,
                                       std::span<const network::GpuId> gpu_of_rank,
                                       const LinkLimits& limits);

  [[nodiscard]] Result<KernelShape> ShapeOf(const Request& request,
                                            std::span<const network::GpuId> gpu_of_rank);

  [[nodiscard]] Result<LinkDemand> DemandOf(const Request& request,
                                            std::span<const network::GpuId> gpu_of_rank,
                                            const LinkLimits& limits = {});

 private:
  CostSettings settings_;
  FabricMemo fabrics_;
  MonotoneTimes times_;
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
