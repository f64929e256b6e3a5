#include <algorithm>
#include <bit>

#include "orrery/collective/tuner_model.h"

namespace orrery::collective {
namespace {

double Entry(const ByAlgorithm& table, Algorithm algorithm, Protocol protocol) {
  return table[static_cast<std::size_t>(algorithm)][static_cast<std::size_t>(protocol)];
}

double FloorLog2(int count) {
  return std::bit_width(static_cast<unsigned>(count)) - 1;
}

const ByAlgorithm& IntraTable(const TunedAlgorithm& candidate) {
  return candidate.fabric.intra == IntraLink::kNvlink ? candidate.tables.latencies.nvlink
                                                : candidate.tables.latencies.pci;
}

double IntraHop(const TunedAlgorithm& candidate) {
  return Entry(IntraTable(candidate), candidate.algorithm, candidate.protocol);
}

// Simple waits for the NIC once more, to know that all was written.
double InterHop(const TunedAlgorithm& candidate) {
  const Algorithm algorithm = candidate.fabric.ranks_per_node == 1 ? Algorithm::kTree : candidate.algorithm;
  const double waits = candidate.protocol == Protocol::kSimple ? 2 : 1;
  return Entry(candidate.tables.latencies.network, algorithm, candidate.protocol) +
         waits * candidate.fabric.nic_latency_us;
}

// A ring over several nodes posts to the network in each of its steps.
double NetworkOverhead(const TunedAlgorithm& candidate) {
  if (candidate.fabric.nodes == 1) {
    return 0;
  }
  const double post = candidate.fabric.cpu == hardware::CpuVendor::kAmd ? 2 : 1;
  return candidate.protocol == Protocol::kSimple ? 3 * post : post;
}

double RingLatency(const TunedAlgorithm& candidate) {
  if (candidate.kind == CollectiveKind::kBroadcast || candidate.kind == CollectiveKind::kReduce) {
    // As if all channels were the same, which the search tries first.
    return candidate.fabric.nodes == 1 ? IntraHop(candidate)
                                 : Entry(candidate.tables.latencies.network, candidate.algorithm, candidate.protocol);
  }
  const double rounds = candidate.kind == CollectiveKind::kAllReduce ? 2 : 1;
  const double inter_steps = rounds * (candidate.fabric.nodes - 1);
  return (RingSteps(candidate.kind, candidate.fabric.ranks) - inter_steps) *
             std::max(IntraHop(candidate), NetworkOverhead(candidate)) +
         inter_steps * InterHop(candidate);
}

double LatencyAboveBase(const TunedAlgorithm& candidate) {
  const double others = candidate.fabric.ranks_per_node - 1;
  const double levels = FloorLog2(candidate.fabric.nodes);
  switch (candidate.algorithm) {
    case Algorithm::kRing:
      return RingLatency(candidate);
    case Algorithm::kTree:
      return 2 * (others * IntraHop(candidate) + levels * InterHop(candidate));
    case Algorithm::kCollnetDirect:
      return 2 * (std::min(1.0, others) * IntraHop(candidate) + 0.4 * others) + InterHop(candidate);
    case Algorithm::kCollnetChain:
      return 2 * others * IntraHop(candidate) + InterHop(candidate);
    case Algorithm::kNvls:
      return IntraHop(candidate) + (candidate.fabric.nodes > 1 ? InterHop(candidate) : 0);
    case Algorithm::kNvlsTree:
      return IntraHop(candidate) + 2 * levels * InterHop(candidate);
    case Algorithm::kPat:
      return levels * InterHop(candidate) / 3.5 + 2.8 * candidate.fabric.ranks;
    case Algorithm::kHierarchical:
    case Algorithm::kDirect:
      return 0;
  }
  return 0;
}

}  // namespace

double LatencyUs(const TunedAlgorithm& candidate) {
  return Entry(candidate.tables.latencies.base, candidate.algorithm, candidate.protocol) + LatencyAboveBase(candidate);
}

}  // namespace orrery::collective
