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

const ByAlgorithm& IntraTable(const TunedWay& way) {
  return way.fabric.intra == IntraLink::kNvlink ? way.tables.latencies.nvlink
                                                : way.tables.latencies.pci;
}

double IntraHop(const TunedWay& way) {
  return Entry(IntraTable(way), way.algorithm, way.protocol);
}

// Simple waits for the NIC once more, to know that all was written.
double InterHop(const TunedWay& way) {
  const Algorithm algorithm = way.fabric.ranks_per_node == 1 ? Algorithm::kTree : way.algorithm;
  const double waits = way.protocol == Protocol::kSimple ? 2 : 1;
  return Entry(way.tables.latencies.network, algorithm, way.protocol) +
         waits * way.fabric.nic_latency_us;
}

// A ring over several nodes posts to the network in each of its steps.
double NetworkOverhead(const TunedWay& way) {
  if (way.fabric.nodes == 1) {
    return 0;
  }
  const double post = way.fabric.cpu == hardware::CpuVendor::kAmd ? 2 : 1;
  return way.protocol == Protocol::kSimple ? 3 * post : post;
}

double RingLatency(const TunedWay& way) {
  if (way.kind == CollectiveKind::kBroadcast || way.kind == CollectiveKind::kReduce) {
    // As if all channels were the same, which the search tries first.
    return way.fabric.nodes == 1 ? IntraHop(way)
                                 : Entry(way.tables.latencies.network, way.algorithm, way.protocol);
  }
  const double rounds = way.kind == CollectiveKind::kAllReduce ? 2 : 1;
  const double inter_steps = rounds * (way.fabric.nodes - 1);
  return (RingSteps(way.kind, way.fabric.ranks) - inter_steps) *
             std::max(IntraHop(way), NetworkOverhead(way)) +
         inter_steps * InterHop(way);
}

double LatencyAboveBase(const TunedWay& way) {
  const double others = way.fabric.ranks_per_node - 1;
  const double levels = FloorLog2(way.fabric.nodes);
  switch (way.algorithm) {
    case Algorithm::kRing:
      return RingLatency(way);
    case Algorithm::kTree:
      return 2 * (others * IntraHop(way) + levels * InterHop(way));
    case Algorithm::kCollnetDirect:
      return 2 * (std::min(1.0, others) * IntraHop(way) + 0.4 * others) + InterHop(way);
    case Algorithm::kCollnetChain:
      return 2 * others * IntraHop(way) + InterHop(way);
    case Algorithm::kNvls:
      return IntraHop(way) + (way.fabric.nodes > 1 ? InterHop(way) : 0);
    case Algorithm::kNvlsTree:
      return IntraHop(way) + 2 * levels * InterHop(way);
    case Algorithm::kPat:
      return levels * InterHop(way) / 3.5 + 2.8 * way.fabric.ranks;
    case Algorithm::kHierarchical:
    case Algorithm::kDirect:
      return 0;
  }
  return 0;
}

}  // namespace

double LatencyUs(const TunedWay& way) {
  return Entry(way.tables.latencies.base, way.algorithm, way.protocol) + LatencyAboveBase(way);
}

}  // namespace orrery::collective
