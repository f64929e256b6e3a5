#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/channel_search.h"

namespace orrery::collective {

/// One number for each of LL, LL128 and Simple.
using ByProtocol = std::array<double, kNumProtocols>;

/// The same for each of the seven tuned algorithms.
using ByAlgorithm = std::array<ByProtocol, kNumTunedAlgorithms>;

/// GB/s for 1, 2 and more nodes; 0: no limit.
using ByNodes = std::array<double, 3>;

/// One value for each of Volta, Ampere, Hopper and Blackwell.
template <typename Value>
using ByGeneration = std::array<Value, 4>;

/// The constants of NCCL's tuner in one version (data/network/nccl_tuner.yaml).
struct TunerTables {
  std::string version;  // the first that has them

  struct Latencies {  // µs
    ByAlgorithm base{};
    ByAlgorithm nvlink{};
    ByAlgorithm pci{};
    ByAlgorithm network{};
  };

  Latencies latencies;

  struct Limits {  // GB/s
    ByGeneration<ByNodes> ll{};
    ByGeneration<ByNodes> ring_ll128_channel{};
    ByGeneration<ByNodes> tree_ll128_channel{};
    ByGeneration<ByNodes> tree_channel{};
    ByGeneration<ByNodes> nvls_tree_channel{};
  };

  Limits limits;

  ByGeneration<double> nvls_efficiency{};
  double nvls_head_share = 0;
  double ring_ll_share = 0;
  double ring_ll_share_one_way = 0;  // on one node, without reduction
  bool has_nvls = true;
  bool has_pat = true;

  /// Share of tree all-reduce's bandwidth by floor(log2(bytes / 64)); 1 beyond the last.
  std::array<std::vector<double>, kNumProtocols> tree_correction;
};

/// Returns the index of a generation in the tables; those without a row count as Ampere.
[[nodiscard]] std::size_t RowOf(GpuGeneration generation);

/// Returns the constants that a version uses: "2.21.5", "2.29.3+cuda13.1". The newest if the
/// text is empty; fails if it is not a version or older than all known ones.
[[nodiscard]] Result<const TunerTables*> FindTunerTables(std::string_view nccl_version);

/// The constants of all known versions, newest first.
[[nodiscard]] const std::vector<TunerTables>& AllTunerTables();

/// The constants of the newest version.
[[nodiscard]] const TunerTables& NewestTunerTables();

}  // namespace orrery::collective
