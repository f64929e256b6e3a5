#pragma once

#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"
#include "orrery/collective/tuner_tables.h"

namespace orrery::collective {

/// The inputs of the tuner's formulas for one algorithm and protocol. Barriers are all-reduces
/// here.
struct TunedAlgorithm {
  const Fabric& fabric;
  const TunerTables& tables;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
};

/// Returns the number of sends of a rank in a ring.
[[nodiscard]] double RingSteps(CollectiveKind kind, int ranks);

/// Returns NCCL's estimate of the bandwidth for large sizes, GB/s of the request's size.
///
/// One deviation from NCCL: all-reduce in the switch on one node is limited by n / (n + 1) of the
/// links' bandwidth times the efficiency, and by nvls_head_share of its channels. Both are needed
/// to match the choices of measured H200 and B200 nodes for 4 to 8 GPUs.
[[nodiscard]] double AlgorithmGbps(const TunedAlgorithm& candidate);

/// Returns NCCL's estimate of the latency, µs.
[[nodiscard]] double LatencyUs(const TunedAlgorithm& candidate);

}  // namespace orrery::collective
