#pragma once

#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"
#include "orrery/collective/tuner_tables.h"

namespace orrery::collective {

/// One candidate to do one kind of collective; what the tuner's formulas look at. Barriers are
/// all-reduces here.
struct TunedAlgorithm {
  const Fabric& fabric;
  const TunerTables& tables;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;
};

/// Returns how often a rank of a ring sends.
[[nodiscard]] double RingSteps(CollectiveKind kind, int ranks);

/// Returns what NCCL believes that a candidate reaches for large sizes, GB/s of the request's size.
///
/// One deviation from NCCL: all-reduce in the switch on one node is bound by what the links carry,
/// n / (n + 1) of them, times the efficiency, and by nvls_head_share of its channels. Both are
/// needed to choose what measured H200 and B200 nodes choose for 4 to 8 GPUs.
[[nodiscard]] double AlgorithmGbps(const TunedAlgorithm& candidate);

/// Returns what NCCL believes that a candidate takes for nothing, µs.
[[nodiscard]] double LatencyUs(const TunedAlgorithm& candidate);

}  // namespace orrery::collective
