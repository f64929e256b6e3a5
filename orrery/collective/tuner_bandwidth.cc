#include <algorithm>
#include <limits>

#include "orrery/collective/tuner_model.h"

namespace orrery::collective {
namespace {

double Limit(const ByGeneration<ByNodes>& limits, std::size_t row, int nodes) {
  const double limit = limits[row][static_cast<std::size_t>(std::min(nodes, 3) - 1)];
  return limit > 0 ? limit : std::numeric_limits<double>::infinity();
}

double ChannelLimit(const TunedWay& way, const ByGeneration<ByNodes>& limits) {
  return Limit(limits, RowOf(way.fabric.generation), way.fabric.nodes);
}

// Over several nodes the CPU tells the limit, not the GPU.
double LlLimit(const TunedWay& way) {
  const bool amd = way.fabric.cpu == hardware::CpuVendor::kAmd;
  const GpuGeneration by_cpu = amd ? GpuGeneration::kAmpere : GpuGeneration::kVolta;
  return Limit(way.tables.limits.ll, RowOf(way.fabric.nodes == 1 ? way.fabric.generation : by_cpu),
               way.fabric.nodes);
}

double GraphBus(const TunedWay& way, bool collnet) {
  const ChannelGraph& rings = way.fabric.rings;
  return rings.channels *
         (way.fabric.nodes <= 2 || collnet ? rings.intra_speed : rings.inter_speed);
}

double RingLlShare(const TunedWay& way) {
  const bool adds_up =
      way.kind == CollectiveKind::kAllReduce || way.kind == CollectiveKind::kReduce;
  return way.fabric.nodes > 1 || adds_up ? way.tables.ring_ll_share
                                         : way.tables.ring_ll_share_one_way;
}

double RingBus(const TunedWay& way) {
  const double bus = GraphBus(way, false);
  switch (way.protocol) {
    case Protocol::kLl:
      return std::min(LlLimit(way), bus * RingLlShare(way));
    case Protocol::kLl128:
      return std::min(0.92 * bus, way.fabric.rings.channels *
                                      ChannelLimit(way, way.tables.limits.ring_ll128_channel));
    case Protocol::kSimple:
      return bus;
  }
  return bus;
}

double TreeBusOfProtocol(const TunedWay& way, double bus) {
  switch (way.protocol) {
    case Protocol::kLl:
      return std::min(bus / 3.8, LlLimit(way));
    case Protocol::kLl128:
      return std::min(
          bus * (way.fabric.nodes == 1 ? 7.0 / 9 : 120.0 / 128),
          way.fabric.rings.channels * ChannelLimit(way, way.tables.limits.tree_ll128_channel));
    case Protocol::kSimple:
      return bus;
  }
  return bus;
}

// NCCL's pattern "tree", a plain chain, is what is left without a network or with one rank a node.
double TreeBus(const TunedWay& way) {
  const double bus =
      std::min(0.92 * GraphBus(way, false),
               way.fabric.rings.channels * ChannelLimit(way, way.tables.limits.tree_channel));
  const bool plain = way.fabric.nodes == 1 || way.fabric.ranks_per_node == 1;
  return TreeBusOfProtocol(way, bus) * (plain ? 0.85 : 1);
}

double Efficiency(const TunedWay& way) {
  return way.tables.nvls_efficiency[RowOf(way.fabric.generation)];
}

// What the links carry, and what the channels carry that NCCL finds: with few ranks the second is
// less.
double NvlsOneNodeGbps(const TunedWay& way) {
  const double ranks = way.fabric.ranks;
  const double links = way.fabric.rings.intra_total() * ranks / (ranks + 1);
  return std::min(links * Efficiency(way),
                  way.fabric.nvls.intra_total() * way.tables.nvls_head_share);
}

double NvlsBus(const TunedWay& way) {
  const ChannelGraph& nvls = way.fabric.nvls;
  const double channels = nvls.channels;
  const double local = way.fabric.ranks_per_node;
  const double passes = way.kind == CollectiveKind::kAllReduce ? 2 : (local - 1) / local;
  const bool tree = way.algorithm == Algorithm::kNvlsTree;
  const double inside = nvls.intra_speed * Efficiency(way) * (channels - 1) / channels * passes;
  const double between = nvls.inter_speed * (tree && way.fabric.nodes <= 2 ? 2 : 1);
  const double limit = tree ? ChannelLimit(way, way.tables.limits.nvls_tree_channel)
                            : std::numeric_limits<double>::infinity();
  const bool one_node = way.fabric.nodes == 1;
  return channels * std::min({inside, one_node ? inside : between, limit});
}

double CollnetGbps(const TunedWay& way) {
  const double local = way.fabric.ranks_per_node;
  const ChannelGraph& rings = way.fabric.rings;
  if (way.kind != CollectiveKind::kAllReduce) {
    return local * std::min(rings.intra_speed, 0.9 * rings.inter_speed);
  }
  double bus = GraphBus(way, true);
  if (way.algorithm == Algorithm::kCollnetDirect) {
    const double ranks_of_nic = local / rings.channels;
    bus /= ranks_of_nic - (ranks_of_nic - 1) / 2;
    const bool newer = RowOf(way.fabric.generation) >= RowOf(GpuGeneration::kHopper);
    bus *= newer ? 0.85 : 1;
  }
  return 0.5 * bus;
}

double NvlsGbps(const TunedWay& way) {
  const bool all_reduce = way.kind == CollectiveKind::kAllReduce;
  if (all_reduce && way.fabric.nodes == 1) {
    return NvlsOneNodeGbps(way);
  }
  const double bus = NvlsBus(way);
  return all_reduce ? bus * way.fabric.ranks / RingSteps(way.kind, way.fabric.ranks) : bus;
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

double AlgorithmGbps(const TunedWay& way) {
  switch (way.algorithm) {
    case Algorithm::kRing:
      return RingBus(way) * way.fabric.ranks / RingSteps(way.kind, way.fabric.ranks);
    case Algorithm::kTree:
      return 0.5 * TreeBus(way);
    case Algorithm::kCollnetDirect:
    case Algorithm::kCollnetChain:
      return CollnetGbps(way);
    case Algorithm::kNvls:
    case Algorithm::kNvlsTree:
      return NvlsGbps(way);
    case Algorithm::kPat:
      return 0.75 * GraphBus(way, false);
    case Algorithm::kHierarchical:
    case Algorithm::kDirect:
      return 0;
  }
  return 0;
}

}  // namespace orrery::collective
