#pragma once

#include "orrery/base/error.h"
#include "orrery/base/units.h"

/// Simulates the analytical mode of SimAI (1.6): bus bandwidth by where a group lies, times an
/// efficiency from tables. For comparison with what others computed, not for prediction.
namespace orrery::compat::simai {

enum class Kind {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAllToAll,
};

/// Whose collective it is. In its workload text a suffix says so; without one, forward and
/// input-gradient columns mean kTensor and the weight-gradient column kData.
enum class Group {
  kTensor,
  kExpert,  // _EP
  kData,
  kExpertData,  // _DP_EP
};

/// What it asks of a machine. Its GB/s are GiB/s.
struct Machine {
  double nvlink_gib_per_second = 0;  // of a GPU
  double nic_gib_per_second = 0;     // of a NIC
  int nics_per_server = 8;
  int gpus_per_server = 8;
};

/// How many GPUs share the work in each candidate.
struct Plan {
  int gpus = 1;
  int tensor = 1;
  int expert = 1;
  int pipeline = 1;

  [[nodiscard]] int data() const { return gpus / (tensor * pipeline); }
};

/// Where a group lies, as SimAI counts: for groups of data parallelism its nodes times GPUs are
/// more than the ranks, because neighbouring groups share the NICs.
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
  bool nvlink_limits = false;  // chooses the table of efficiency
};

[[nodiscard]] BusBandwidth BusBandwidthOf(Kind kind, const Spread& spread, const Machine& machine);

struct Call {
  Kind kind = Kind::kAllReduce;
  Group group = Group::kTensor;
  Bytes size;
};

/// Returns how long a call takes. Groups of one rank take no time.
[[nodiscard]] Result<Duration> CallTime(const Call& call, const Plan& plan, const Machine& machine);

}  // namespace orrery::compat::simai
