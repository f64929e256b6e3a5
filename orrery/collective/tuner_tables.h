#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"

namespace orrery::collective {

/// One number for each of LL, LL128 and Simple.
using ByProtocol = std::array<double, kNumProtocols>;

/// The same for each of the seven tuned algorithms.
using ByAlgorithm = std::array<ByProtocol, kNumTunedAlgorithms>;

/// GB/s for 1, 2 and more nodes.
using ByNodes = std::array<double, 3>;

/// The same for Volta, Ampere, Hopper and Blackwell.
using ByGeneration = std::array<ByNodes, 4>;

/// The constants of NCCL's tuner in one version (data/network/nccl_tuner.yaml).
struct TunerTables {
  std::string version;  // the first that has them

  // Latencies in µs.
  ByAlgorithm base{};
  ByAlgorithm nvlink{};
  ByAlgorithm pci{};
  ByAlgorithm network{};

  // Most that a protocol or an algorithm carries, GB/s.
  ByGeneration ll_most{};
  ByGeneration ring_ll128_channel{};
  ByGeneration tree_ll128_channel{};
  ByGeneration tree_channel{};
  ByGeneration nvls_tree_channel{};

  std::array<double, 4> nvls_efficiency{};  // by generation
  double ring_ll_share = 0.5;               // of the bus bandwidth
  double ring_ll_share_one_way = 0.5;       // the same on one node for other than all-reduce
  bool has_nvls = true;
  bool has_pat = true;

  // Share of tree all-reduce's bandwidth by floor(log2(bytes / 64)).
  std::array<std::vector<double>, kNumProtocols> tree_correction;
};

/// Returns the constants that a version uses: "2.21.5", "2.29.3+cuda13.1". The newest when the
/// text is empty; fails when it is not a version or older than all that is known.
[[nodiscard]] Result<const TunerTables*> FindTunerTables(std::string_view nccl_version);

/// The constants of the newest version.
[[nodiscard]] const TunerTables& NewestTunerTables();

}  // namespace orrery::collective
