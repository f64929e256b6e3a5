#pragma once

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/request.h"

/// The analytical mode of SimAI (1.6): bus bandwidth by the placement of a group, times an
/// efficiency from tables. For comparison with results of SimAI, not for prediction.
namespace orrery::compat::simai {

/// The parallel group of a collective. A suffix in the workload text gives it; without one, forward
/// and input-gradient columns mean kTensor and the weight-gradient column kData.
enum class Group {
  kTensor,
  kExpert,  // _EP
  kData,
  kExpertData,  // _DP_EP
};

/// SimAI's parameters of a machine. Its GB/s are GiB/s.
struct Machine {
  double nvlink_gib_per_second = 0;  // of a GPU
  double nic_gib_per_second = 0;     // of a NIC
  int nics_per_server = 8;
  int gpus_per_server = 8;
};

struct Plan {
  int gpus = 1;
  int tensor = 1;
  int expert = 1;
  int pipeline = 1;

  [[nodiscard]] int data() const { return gpus / (tensor * pipeline); }
};

/// The placement of a group as SimAI counts it: for data-parallel groups nodes times GPUs exceed
/// the ranks, because neighbouring groups share the NICs.
struct Spread {
  int ranks = 1;
  int gpus_per_node = 1;
  int nodes = 1;
  int nics_per_node = 1;  // for this group
};

/// Fails when the numbers of a plan do not divide as SimAI needs them to.
[[nodiscard]] Result<Spread> SpreadOf(Group group, const Plan& plan, const Machine& machine);

struct BusBandwidth {
  double gib_per_second = 0;
  bool nvlink_limits = false;  // selects the efficiency table
};

[[nodiscard]] BusBandwidth BusBandwidthOf(CollectiveKind kind, const Spread& spread,
                                          const Machine& machine);

/// Sizes are of the full buffer, as in collective::Request.
struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Group group = Group::kTensor;
  Bytes size;

  bool operator==(const Collective&) const = default;
};

/// Returns true if SimAI models this kind: all-reduce, all-gather, reduce-scatter and all-to-all.
[[nodiscard]] constexpr bool IsModelled(CollectiveKind kind) {
  return kind >= CollectiveKind::kAllReduce && kind <= CollectiveKind::kAllToAll;
}

/// Returns the time of a collective of a modelled kind. Groups of one rank take no time.
[[nodiscard]] Result<Duration> CollectiveTime(const Collective& collective, const Plan& plan,
                                              const Machine& machine);

/// SimAI's efficiency tables (data/network/simai_ratios.yaml).
enum class RatioTable {
  kNic,
  kNvlink,
  kAllToAll,
};

/// The column of groups with one GPU per node, instead of a number of nodes.
inline constexpr int kOneGpuEachNode = -1;

/// Returns the share of the bus bandwidth that a collective of `size` reaches, relative to 16 GiB:
/// linear between the sizes of the table, constant below the smallest. A number of nodes without a
/// column counts as 16. Fails above 16 GiB, as SimAI does.
[[nodiscard]] Result<double> EfficiencyRatio(RatioTable table, int nodes, Bytes size);

}  // namespace orrery::compat::simai
