#pragma once

#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// The structure of a collective algorithm without constants. With fitted constants the closed form
/// is
///   start + intra_steps * a_intra + inter_steps * a_inter
///         + size * max(intra_traffic / a GPU's link, inter_traffic / NICs of a node).
struct Shape {
  double intra_steps = 0;    // sequential hops inside nodes
  double inter_steps = 0;    // sequential hops between nodes
  double intra_traffic = 0;  // over the links of one GPU, one direction, as a multiple of the size
  double inter_traffic = 0;  // over all NICs of one node, one direction, as a multiple of the size

  bool operator==(const Shape&) const = default;
};

/// Returns the structure of any pair that some library uses; a group of one rank has none. Tree:
/// mean traffic of a GPU over NCCL's two trees. NVLS: each value crosses the links of its owner
/// twice. Direct: at most eight peers at once, all at the rate of the slowest.
[[nodiscard]] Shape ShapeOf(const Fabric& fabric, CollectiveKind kind, Algorithm algorithm);

}  // namespace orrery::collective
