#include "orrery/collective/tuner_model.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace orrery::collective {
namespace {

// Bandwidth.

double Limit(const ByGeneration<ByNodes>& limits, std::size_t row, int nodes) {
  const double limit = limits[row][static_cast<std::size_t>(std::min(nodes, 3) - 1)];
  return limit > 0 ? limit : std::numeric_limits<double>::infinity();
}

double ChannelLimit(const TunedAlgorithm& candidate, const ByGeneration<ByNodes>& limits) {
  return Limit(limits, RowOf(candidate.fabric.generation), candidate.fabric.nodes);
}

// Across nodes the CPU determines the limit, not the GPU.
double LlLimit(const TunedAlgorithm& candidate) {
  const bool amd = candidate.fabric.cpu == hardware::CpuVendor::kAmd;
  const GpuGeneration by_cpu = amd ? GpuGeneration::kAmpere : GpuGeneration::kVolta;
  return Limit(candidate.tables.limits.ll,
               RowOf(candidate.fabric.nodes == 1 ? candidate.fabric.generation : by_cpu),
               candidate.fabric.nodes);
}

double GraphBus(const TunedAlgorithm& candidate, bool collnet) {
  const ChannelGraph& rings = candidate.fabric.rings;
  return rings.channels *
         (candidate.fabric.nodes <= 2 || collnet ? rings.intra_speed : rings.inter_speed);
}

double RingLlShare(const TunedAlgorithm& candidate) {
  const bool adds_up =
      candidate.kind == CollectiveKind::kAllReduce || candidate.kind == CollectiveKind::kReduce;
  return candidate.fabric.nodes > 1 || adds_up ? candidate.tables.ring_ll_share
                                               : candidate.tables.ring_ll_share_one_way;
}

double RingBus(const TunedAlgorithm& candidate) {
  const double bus = GraphBus(candidate, false);
  switch (candidate.protocol) {
    case Protocol::kLl:
      return std::min(LlLimit(candidate), bus * RingLlShare(candidate));
    case Protocol::kLl128:
      return std::min(0.92 * bus,
                      candidate.fabric.rings.channels *
                          ChannelLimit(candidate, candidate.tables.limits.ring_ll128_channel));
    case Protocol::kSimple:
      return bus;
  }
  return bus;
}

double TreeBusOfProtocol(const TunedAlgorithm& candidate, double bus) {
  switch (candidate.protocol) {
    case Protocol::kLl:
      return std::min(bus / 3.8, LlLimit(candidate));
    case Protocol::kLl128:
      return std::min(bus * (candidate.fabric.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
                      candidate.fabric.rings.channels *
                          ChannelLimit(candidate, candidate.tables.limits.tree_ll128_channel));
    case Protocol::kSimple:
      return bus;
  }
  return bus;
}

// Without a network, or with one rank per node, only NCCL's pattern "tree", a plain chain, remains.
double TreeBus(const TunedAlgorithm& candidate) {
  const double bus = std::min(0.92 * GraphBus(candidate, false),
                              candidate.fabric.rings.channels *
                                  ChannelLimit(candidate, candidate.tables.limits.tree_channel));
  const bool plain = candidate.fabric.nodes == 1 || candidate.fabric.ranks_per_node == 1;
  return TreeBusOfProtocol(candidate, bus) * (plain ? 0.85 : 1);
}

double Efficiency(const TunedAlgorithm& candidate) {
  return candidate.tables.nvls_efficiency[RowOf(candidate.fabric.generation)];
}

// The bandwidth of the links, and of the channels that NCCL finds: less with few ranks.
double NvlsOneNodeGbps(const TunedAlgorithm& candidate) {
  const double ranks = candidate.fabric.ranks;
  const double links = candidate.fabric.rings.intra_total() * ranks / (ranks + 1);
  return std::min(links * Efficiency(candidate),
                  candidate.fabric.nvls.intra_total() * candidate.tables.nvls_head_share);
}

double NvlsBus(const TunedAlgorithm& candidate) {
  const ChannelGraph& nvls = candidate.fabric.nvls;
  const double channels = nvls.channels;
  const double local = candidate.fabric.ranks_per_node;
  const double passes = candidate.kind == CollectiveKind::kAllReduce ? 2 : (local - 1) / local;
  const bool tree = candidate.algorithm == Algorithm::kNvlsTree;
  const double inside =
      nvls.intra_speed * Efficiency(candidate) * (channels - 1) / channels * passes;
  const double between = nvls.inter_speed * (tree && candidate.fabric.nodes <= 2 ? 2 : 1);
  const double limit = tree ? ChannelLimit(candidate, candidate.tables.limits.nvls_tree_channel)
                            : std::numeric_limits<double>::infinity();
  const bool one_node = candidate.fabric.nodes == 1;
  return channels * std::min({inside, one_node ? inside : between, limit});
}

double CollnetGbps(const TunedAlgorithm& candidate) {
  const double local = candidate.fabric.ranks_per_node;
  const ChannelGraph& rings = candidate.fabric.rings;
  if (candidate.kind != CollectiveKind::kAllReduce) {
    return local * std::min(rings.intra_speed, 0.9 * rings.inter_speed);
  }
  double bus = GraphBus(candidate, true);
  if (candidate.algorithm == Algorithm::kCollnetDirect) {
    const double ranks_of_nic = local / rings.channels;
    bus /= ranks_of_nic - (ranks_of_nic - 1) / 2;
    const bool newer = RowOf(candidate.fabric.generation) >= RowOf(GpuGeneration::kHopper);
    bus *= newer ? 0.85 : 1;
  }
  return 0.5 * bus;
}

double NvlsGbps(const TunedAlgorithm& candidate) {
  const bool all_reduce = candidate.kind == CollectiveKind::kAllReduce;
  if (all_reduce && candidate.fabric.nodes == 1) {
    return NvlsOneNodeGbps(candidate);
  }
  const double bus = NvlsBus(candidate);
  return all_reduce
             ? bus * candidate.fabric.ranks / RingSteps(candidate.kind, candidate.fabric.ranks)
             : bus;
}

// Latency.

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

// Simple waits for the NIC a second time, for completion of the write.
double InterHop(const TunedAlgorithm& candidate) {
  const Algorithm algorithm =
      candidate.fabric.ranks_per_node == 1 ? Algorithm::kTree : candidate.algorithm;
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
    // As if all channels were equal, which the search tries first.
    return candidate.fabric.nodes == 1
               ? IntraHop(candidate)
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

double RingSteps(CollectiveKind kind, int ranks) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBarrier:
      return 2.0 * (ranks - 1);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
      return ranks - 1;
    default:
      return ranks;
  }
}

double AlgorithmGbps(const TunedAlgorithm& candidate) {
  switch (candidate.algorithm) {
    case Algorithm::kRing:
      return RingBus(candidate) * candidate.fabric.ranks /
             RingSteps(candidate.kind, candidate.fabric.ranks);
    case Algorithm::kTree:
      return 0.5 * TreeBus(candidate);
    case Algorithm::kCollnetDirect:
    case Algorithm::kCollnetChain:
      return CollnetGbps(candidate);
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return NvlsGbps(candidate);
    case Algorithm::kPat:
      return 0.75 * GraphBus(candidate, false);
    case Algorithm::kHierarchical:
    case Algorithm::kDirect:
      return 0;
  }
  return 0;
}

double LatencyUs(const TunedAlgorithm& candidate) {
  return Entry(candidate.tables.latencies.base, candidate.algorithm, candidate.protocol) +
         LatencyAboveBase(candidate);
}

}  // namespace orrery::collective
