#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// The NICs and first switches that GPUs of a cluster have in common. Switches spread traffic
/// evenly, so that all cables of a switch to others are one.
struct PortMap {
  std::uint32_t gpus_per_island = 1;
  std::uint32_t gpus_per_node = 1;
  std::uint32_t nics_per_node = 1;           // as far as GPUs can tell them apart
  Bandwidth nic = {};                        // of one of them
  std::vector<std::uint32_t> leaf_of_gpu{};  // first switch; empty: NICs are full before switches
  std::vector<double> nics_of_uplinks{};     // by first switch: NICs that its cables up can carry
  double free_share = 1;                     // of NICs and switches; other traffic has the rest

  [[nodiscard]] std::uint32_t NicOf(network::GpuId gpu) const {
    return gpu / gpus_per_node * nics_per_node +
           gpu % gpus_per_node * nics_per_node / gpus_per_node;
  }

  [[nodiscard]] bool has_shared_nics() const { return nics_per_node < gpus_per_node; }
};

/// Reads the map of a cluster; `nodes` of it are used. First switches are looked at only where they
/// have less bandwidth up than down.
[[nodiscard]] Result<PortMap> PortMapOf(const hardware::Cluster& cluster, int nodes,
                                        double free_share);

/// Returns true if GPUs of a cluster have cables above their first switch, which may be too few.
[[nodiscard]] bool HasUplinks(hardware::Cluster cluster, int gpus, double oversubscription);

/// Resources that ranks share beside groups, for Fold: numbers of NICs and of first switches, by
/// rank.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> SharedPlaces(
    const PortMap& ports, const workload::Ensemble& ensemble);

/// Separates groups that meet first switches in different orders.
class LeafLinkClass : public LinkClass {
 public:
  /// Both must outlive it.
  LeafLinkClass(const LinkClass& placement, const PortMap& ports)
      : placement_(placement), ports_(ports) {}

  [[nodiscard]] std::uint64_t Of(std::span<const network::GpuId> gpus) const override;

 private:
  const LinkClass& placement_;
  const PortMap& ports_;
};

/// Transfers use the links and the NIC of each member, in both directions, and the cables above
/// first switches that they cross. Rank classes stand for equal ranks, so that their number and not
/// that of the GPUs tells how many links there are; ranks with equal classes have equal links when
/// they were folded with SharedPlaces.
class PortUsage : public LinkUsage {
 public:
  /// All must outlive it.
  PortUsage(const RankClasses& rank_classes, CommunicationTimes& times, const PortMap& ports);

  [[nodiscard]] std::vector<double> Capacities() const override;
  [[nodiscard]] std::string NameOf(network::LinkId link) const override;
  [[nodiscard]] Result<TransferUses> UsesOf(GroupClassId group,
                                            const workload::Communications::Row& row) override;

  /// Storage is above the first switches.
  [[nodiscard]] Result<TransferUses> UsesToStorage(RankClassId rank_class, Bandwidth rate) override;

 private:
  struct Member {
    RankClassId rank_class = 0;
    workload::Direction direction = workload::Direction::kBoth;
  };

  /// Ranks of a class on somebody's NIC.
  struct Mates {
    RankClassId owner = 0;  // of the NIC
    double ranks = 0;
  };

  /// The traffic of the ranks of all groups of a class over a first switch, sent and received, in
  /// multiples of one rank's.
  struct LeafLoad {
    std::uint32_t leaf = 0;  // place in leaves_
    double up = 0;
    double down = 0;
  };

  /// Whom a rank sends to: its place on the next island, the next rank, all.
  enum class Pattern : std::uint8_t { kRings, kMessages, kAll };

  void FindMembers();
  void FindMates();
  void FindLeaves();
  void AddPorts(const Member& member, double link_share, double nic_share);
  void AddLeaves(GroupClassId group, Pattern pattern, double nic_share);
  [[nodiscard]] const std::vector<LeafLoad>& LeafLoadsOf(GroupClassId group, Pattern pattern);
  [[nodiscard]] std::vector<LeafLoad> CountLeafLoads(GroupClassId group, Pattern pattern) const;
  void AddPath(network::GpuId from, network::GpuId to, double share,
               std::vector<LeafLoad>& loads) const;
  void AddGroup(std::span<const network::GpuId> gpus, Pattern pattern,
                std::vector<LeafLoad>& loads) const;
  void Use(std::uint32_t link, double share);
  [[nodiscard]] std::vector<network::LinkUse> TakeUses();

  const RankClasses& rank_classes_;
  CommunicationTimes& times_;
  const PortMap& ports_;
  std::vector<std::vector<Member>> members_;  // by group class
  std::vector<std::vector<Mates>> mates_;     // by rank class
  std::vector<std::uint32_t> leaves_;         // those of the ranks that stand for classes
  std::vector<std::uint32_t> place_of_leaf_;
  tsl::robin_map<std::uint64_t, std::vector<LeafLoad>> loads_of_group_;
  std::vector<double> share_of_link_;
  std::vector<std::uint32_t> used_links_;
};

}  // namespace orrery::simulate
