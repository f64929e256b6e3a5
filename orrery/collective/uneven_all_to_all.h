#pragma once

#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_constants.h"

namespace orrery::collective {

/// Bytes from rank i to rank j at i * ranks + j.
struct SendMatrix {
  int ranks = 0;
  std::vector<double> bytes{};

  [[nodiscard]] double Sent(int from, int to) const {
    return bytes[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) +
                 static_cast<std::size_t>(to)];
  }
};

/// The loads of the most loaded sender or receiver, which an uneven all-to-all waits for.
struct UnevenLoads {
  double intra_bytes = 0;  // over the links of one GPU
  double inter_bytes = 0;  // over the NIC of one GPU
  double own_bytes = 0;    // local to one GPU
  double sent_bytes = 0;   // by one rank, including its own part
};

/// Ranks are numbered node by node.
[[nodiscard]] UnevenLoads LoadsOf(const SendMatrix& matrix, int ranks_per_node);

/// The time of an uneven all-to-all (all-to-all-v) in closed form: that of the most loaded sender
/// or receiver of each class of links. Equal parts give the time of the even one. Fails if the
/// matrix does not match the fabric's ranks or has a negative size.
[[nodiscard]] Result<double> UnevenAllToAllSeconds(const Fabric& fabric, const SendMatrix& matrix,
                                                   const MachineConstants& constants);

}  // namespace orrery::collective
