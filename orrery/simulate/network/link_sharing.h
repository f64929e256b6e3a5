#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/network/congestion.h"
#include "orrery/network/fair_filling.h"
#include "orrery/network/pause.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// Links that a transfer uses while it runs alone.
struct TransferUses {
  std::vector<network::LinkUse> links;        // as shares of their bandwidth, each link once
  double bytes_per_second = 0;                // over the link that carries most of it
  std::vector<network::LinkPair> pairs = {};  // consecutive links of paths, where links pause
};

/// Traffic beside the programs, from the begin of the simulation until it is done: the checkpoint
/// that a class of ranks writes.
struct LinkTraffic {
  TransferUses uses;
  std::int64_t duration_ps = 0;  // with its links to itself
};

/// The links of a network, and which of them a transfer uses.
class LinkUsage {
 public:
  virtual ~LinkUsage() = default;

  /// The part of each link for the job, as a share of its bandwidth: less than 1 where other
  /// traffic takes some or the link is degraded.
  [[nodiscard]] virtual std::vector<double> Capacities() const = 0;

  /// Marks links that lose goodput when transfers compete for them; empty: none.
  [[nodiscard]] virtual std::vector<std::uint8_t> LosesGoodput() const { return {}; }

  /// "nic0.3 → leaf3".
  [[nodiscard]] virtual std::string NameOf(network::LinkId link) const = 0;

  /// Asked once for each group, kind, size and element of a simulation.
  [[nodiscard]] virtual Result<TransferUses> UsesOf(GroupClassId group,
                                                    const workload::Communications::Row& row) = 0;

  /// The links of the ranks of a class that send to storage at a rate each: their NICs, and the
  /// links above them on the way out of the network.
  [[nodiscard]] virtual Result<TransferUses> UsesToStorage(RankClassId rank_class,
                                                           Bandwidth rate) = 0;
};

/// Transfers that share links, max-min fair in bytes: on a link that cannot give all what they
/// want, none gets more while another one gets less, unless that one is limited elsewhere. A
/// transfer advances on all its links together, as the steps of a ring do. Where links pause, those
/// that wait behind others get less.
class LinkSharing {
 public:
  /// `usage` and `congestion` must outlive it.
  explicit LinkSharing(LinkUsage& usage, const network::CongestionModel* congestion = nullptr);

  /// Begins a transfer that advances at most at its speed alone.
  [[nodiscard]] Result<network::FlowRow> Begin(GroupClassId group,
                                               const workload::Communications::Row& row);

  /// The same for traffic that is no communication of a program.
  [[nodiscard]] network::FlowRow Begin(const TransferUses& uses);

  /// Changes the most that a transfer may have of its speed alone.
  void SetCap(network::FlowRow flow, double share);

  void End(network::FlowRow flow);

  /// Recomputes the shares of links and returns the transfers whose speed may have changed.
  [[nodiscard]] std::span<const network::FairFilling::Filled> Refill();

  /// The speed of a transfer as a share of its speed alone; at most its cap.
  [[nodiscard]] double SpeedOf(network::FlowRow flow) const;

 private:
  struct Key {
    GroupClassId group = 0;
    CollectiveKind kind{};
    DataType element{};
    std::int64_t bytes = 0;

    bool operator==(const Key&) const = default;
  };

  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  // Rows of transfers with the same uses; those that are not on links are used again.
  struct Pool {
    TransferUses uses;
    std::vector<network::FlowRow> free;
  };

  [[nodiscard]] network::FlowRow TakeRow(std::uint32_t pool);
  [[nodiscard]] Result<std::uint32_t> PoolOf(GroupClassId group,
                                             const workload::Communications::Row& row);

  LinkUsage& usage_;
  network::FlowTable table_;
  network::FairFilling filling_;
  std::optional<network::PauseSpread> pauses_;
  tsl::robin_map<Key, std::uint32_t, Hash> pool_of_key_;
  std::vector<Pool> pools_;
  std::vector<std::uint32_t> pool_of_flow_;
};

}  // namespace orrery::simulate
