#include "orrery/collective/floor.h"

#include <algorithm>

#include "orrery/base/collective_kind.h"
#include "orrery/base/units.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"

namespace orrery::collective {
namespace {

/// Returns the bytes that one of `parts` equal members has to send or receive, as a multiple of the
/// size.
double LeastTraffic(CollectiveKind kind, double parts) {
  const double others = (parts - 1) / parts;
  switch (kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kBarrier:
      return 2 * others;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
    case CollectiveKind::kSendRecv:
      return 1;
    default:
      return others;
  }
}

double SecondsAt(double bytes, Bandwidth bandwidth) {
  return bandwidth.bytes_per_second > 0 ? bytes / bandwidth.bytes_per_second : 0;
}

/// Over the links of a GPU, for ranks of one node. A switch that reduces gets each value once from
/// every GPU and gives the sum back once.
double LinkTraffic(const Fabric& fabric, CollectiveKind kind) {
  const double ranks = fabric.ranks_per_node;
  const double least = LeastTraffic(kind, ranks);
  const bool is_reduced = kind == CollectiveKind::kAllReduce || kind == CollectiveKind::kBarrier;
  return fabric.has_nvls && is_reduced ? std::min(least, (ranks + 1) / ranks) : least;
}

}  // namespace

double FloorSeconds(const Fabric& fabric, const Request& request) {
  const auto size = static_cast<double>(request.size.count);
  if (fabric.nodes == 1) {
    return fabric.ranks_per_node < 2
               ? 0
               : SecondsAt(size * LinkTraffic(fabric, request.kind), fabric.physical_link);
  }
  const double nodes = fabric.nodes;
  const double ranks = fabric.ranks_per_node;
  switch (request.kind) {
    case CollectiveKind::kAllToAll:  // of each rank's buffer, what is for other nodes
      return SecondsAt(size * ranks * (nodes - 1) / nodes, fabric.node_network());
    case CollectiveKind::kSendRecv:  // one rank of a node may be the only one that leaves it
      return SecondsAt(size, fabric.node_network());
    default:
      return SecondsAt(size * LeastTraffic(request.kind, nodes), fabric.node_network());
  }
}

}  // namespace orrery::collective
