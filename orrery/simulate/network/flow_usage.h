#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tsl/robin_set.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/flow/flow_plan.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// The choice of switches between equally short paths.
enum class Routing : std::uint8_t {
  kHash,      // ECMP: one path for each connection, by a hash
  kAdaptive,  // packets go where bandwidth is left
  kSpray,     // packets are spread evenly
};

/// Traffic of others from one GPU to another, all the time.
struct BackgroundFlow {
  network::GpuId from = 0;
  network::GpuId to = 0;
  double bytes_per_second = 0;
};

/// A topology with what is wrong with it.
struct FlowNetworkState {
  Routing routing = Routing::kAdaptive;
  std::uint64_t seed = 0;                        // of the hash
  std::vector<network::GpuId> failed_nics = {};  // the first GPU of each
  std::vector<double> share_of_link = {};        // that works; empty: all of all links
  double free_share = 1;                         // of links between islands; others have the rest
  std::vector<BackgroundFlow> background = {};
  bool pauses = false;  // links do: paths must be known link by link
};

/// Every transfer is the flows of its collective algorithm over the links of a topology. A
/// transfer that has the network to itself takes the time of the closed form; sharing, routes that
/// collide and links that are degraded add to it.
class FlowUsage : public LinkUsage {
 public:
  /// Both must outlive it, and so must the topology.
  [[nodiscard]] static Result<FlowUsage> Create(const RankClasses& rank_classes,
                                                CommunicationTimes& times,
                                                const network::Topology& topology,
                                                FlowNetworkState state);

  [[nodiscard]] std::vector<double> Capacities() const override { return capacities_; }

  [[nodiscard]] std::vector<std::uint8_t> LosesGoodput() const override;

  [[nodiscard]] std::string NameOf(network::LinkId link) const override {
    return topology().LinkName(link);
  }

  [[nodiscard]] Result<TransferUses> UsesOf(GroupClassId group,
                                            const workload::Communications::Row& row) override;

  /// Storage is behind the switches that are farthest from GPUs, over all cables that lead there.
  [[nodiscard]] Result<TransferUses> UsesToStorage(RankClassId rank_class, Bandwidth rate) override;

  [[nodiscard]] const network::Topology& topology() const { return network_.topology(); }

 private:
  FlowUsage(const RankClasses& rank_classes, CommunicationTimes& times,
            const network::Topology& topology, FlowNetworkState state);

  [[nodiscard]] Status AddBackground();
  [[nodiscard]] Status AddPlan(const collective::FlowPlan& plan, std::uint64_t label);
  [[nodiscard]] Result<collective::FlowPlan> PlanOf(GroupClassId group,
                                                    const workload::Communications::Row& row,
                                                    collective::Algorithm algorithm,
                                                    std::span<const network::GpuId> gpus) const;
  [[nodiscard]] network::GpuId WorkingPeer(network::GpuId from, network::GpuId to) const;
  void AddAround(const collective::FlowEdge& edge);
  void Use(network::LinkId link, double bytes);
  [[nodiscard]] Status AddPairs(std::uint64_t label);
  void AddPairsOf(std::span<const network::LinkUse> path);
  void FindHeights();
  void AddUp(network::NodeId node, double bytes);
  void Scale(const collective::LinkDemand& demand, double senders);
  [[nodiscard]] TransferUses TakeUses();

  const RankClasses& rank_classes_;
  CommunicationTimes& times_;
  FlowNetworkState state_;
  collective::FlowNetwork network_;
  std::vector<std::uint8_t> kind_of_link_;
  std::vector<double> capacities_;
  std::vector<std::uint8_t> nic_failed_;  // by GPU
  std::vector<double> bytes_of_link_;
  std::vector<network::LinkId> used_links_;
  std::vector<collective::FlowEdge> edges_;
  tsl::robin_set<std::uint64_t> pairs_;
  std::vector<std::pair<network::NodeId, network::LinkId>> links_from_;  // of one path
  std::vector<std::uint32_t> height_of_node_;  // hops from the nearest GPU's end of the network
};

}  // namespace orrery::simulate
