#pragma once

#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"

namespace orrery::collective {

/// The structure of a way to do a collective: what is left of it when all constants are taken out.
/// With fitted constants a closed form is
///   start + intra_steps * a_intra + inter_steps * a_inter
///         + size * max(intra_traffic / GPU's link, inter_traffic / NICs of a node).
struct Shape {
  double intra_steps = 0;    // hops inside nodes that wait for each other
  double inter_steps = 0;    // hops between nodes
  double intra_traffic = 0;  // over the links of one GPU, one direction, as a multiple of the size
  double inter_traffic = 0;  // over all NICs of one node, one direction, as a multiple of the size

  bool operator==(const Shape&) const = default;
};

[[nodiscard]] Shape ShapeOf(const Fabric& fabric, CollectiveKind kind, Algorithm algorithm);

}  // namespace orrery::collective
