#include "orrery/collective/shape.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace orrery::collective {
namespace {

// Concurrent peers of an all-to-all.
constexpr double kPeersOfARound = 8;

struct Sizes {
  double n = 1;  // ranks
  double m = 1;  // nodes
  double k = 1;  // ranks of a node
};

double FloorLog2(double count) {
  return std::bit_width(static_cast<unsigned>(count)) - 1;
}

bool IsOneWay(CollectiveKind kind) {
  return kind != CollectiveKind::kAllReduce && kind != CollectiveKind::kBarrier;
}

bool HasRoot(CollectiveKind kind) {
  return kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce;
}

// All-reduce traverses the ring twice: reduce-scatter, then all-gather.
Shape RingShape(CollectiveKind kind, const Sizes& sizes) {
  const double rounds = IsOneWay(kind) ? 1 : 2;
  const double traffic = HasRoot(kind) ? 1 : rounds * (sizes.n - 1) / sizes.n;
  const double inter_steps = rounds * (sizes.m - 1);
  return {.intra_steps = rounds * (sizes.n - 1) - inter_steps,
          .inter_steps = inter_steps,
          .intra_traffic = sizes.k > 1 ? traffic : 0,
          .inter_traffic = sizes.m > 1 ? traffic : 0};
}

// Traffic of a node in a tree of nodes: of two nodes, each sends its part once; an inner node of
// many sends once up and once to each of two children, a leaf only up.
double TreeTraffic(double nodes) {
  return nodes <= 1 ? 0 : nodes <= 2 ? 1 : nodes <= 3 ? 1.5 : 2;
}

Shape TreeShape(const Sizes& sizes) {
  return {.intra_steps = 2 * (sizes.k - 1),
          .inter_steps = 2 * FloorLog2(sizes.m),
          .intra_traffic = 2 * (sizes.k - 1) / sizes.k,
          .inter_traffic = TreeTraffic(sizes.m)};
}

double NvlsTraffic(CollectiveKind kind, const Sizes& sizes) {
  return IsOneWay(kind) ? (sizes.k - 1) / sizes.k : (sizes.k + 1) / sizes.k;
}

Shape NvlsShape(CollectiveKind kind, const Sizes& sizes) {
  const double between = sizes.m > 1 ? 1 : 0;
  return {.intra_steps = 1,
          .inter_steps = between,
          .intra_traffic = NvlsTraffic(kind, sizes),
          .inter_traffic = between};
}

Shape NvlsTreeShape(CollectiveKind kind, const Sizes& sizes) {
  return {.intra_steps = 1,
          .inter_steps = 2 * FloorLog2(sizes.m),
          .intra_traffic = NvlsTraffic(kind, sizes),
          .inter_traffic = TreeTraffic(sizes.m)};
}

Shape CollnetShape(Algorithm algorithm, CollectiveKind kind, const Sizes& sizes) {
  const double candidates = IsOneWay(kind) ? 1 : 2;
  const bool chain = algorithm == Algorithm::kCollnetChain;
  return {.intra_steps = candidates * (chain ? sizes.k - 1 : std::min(1.0, sizes.k - 1)),
          .inter_steps = sizes.m > 1 ? 1.0 : 0.0,
          .intra_traffic = candidates * (sizes.k - 1) / sizes.k,
          .inter_traffic = sizes.m > 1 ? 1.0 : 0.0};
}

Shape PatShape(const Sizes& sizes) {
  return {.inter_steps = std::ceil(std::log2(sizes.n)), .inter_traffic = (sizes.n - 1) / sizes.n};
}

// Inside the node over K ranks, and along K rails over M nodes.
Shape HierarchicalShape(CollectiveKind kind, const Sizes& sizes) {
  const double candidates = IsOneWay(kind) ? 1 : 2;
  return {.intra_steps = candidates * (sizes.k - 1),
          .inter_steps = candidates * (sizes.m - 1),
          .intra_traffic = candidates * (sizes.k - 1) / sizes.k,
          .inter_traffic = candidates * (sizes.m - 1) / sizes.m};
}

Shape DirectShape(CollectiveKind kind, const Sizes& sizes) {
  if (kind != CollectiveKind::kAllToAll) {
    const double between = sizes.m > 1 ? 1 : 0;
    return {.intra_steps = 1 - between,
            .inter_steps = between,
            .intra_traffic = 1 - between,
            .inter_traffic = between};
  }
  return {.intra_steps = std::ceil((sizes.k - 1) / kPeersOfARound),
          .inter_steps = std::ceil((sizes.n - sizes.k) / kPeersOfARound),
          .intra_traffic = (sizes.k - 1) / sizes.n,
          .inter_traffic = sizes.k * (sizes.n - sizes.k) / sizes.n};
}

}  // namespace

Shape ShapeOf(const Fabric& fabric, CollectiveKind kind, Algorithm algorithm) {
  if (fabric.ranks <= 1) {
    return {};
  }
  const Sizes sizes{.n = static_cast<double>(fabric.ranks),
                    .m = static_cast<double>(fabric.nodes),
                    .k = static_cast<double>(fabric.ranks_per_node)};
  switch (algorithm) {
    case Algorithm::kRing:
      return RingShape(kind, sizes);
    case Algorithm::kTree:
      return TreeShape(sizes);
    case Algorithm::kCollnetDirect:
    case Algorithm::kCollnetChain:
      return CollnetShape(algorithm, kind, sizes);
    case Algorithm::kNvls:
      return NvlsShape(kind, sizes);
    case Algorithm::kNvlsTree:
      return NvlsTreeShape(kind, sizes);
    case Algorithm::kPat:
      return PatShape(sizes);
    case Algorithm::kHierarchical:
      return HierarchicalShape(kind, sizes);
    case Algorithm::kDirect:
      return DirectShape(kind, sizes);
  }
  return {};
}

}  // namespace orrery::collective
