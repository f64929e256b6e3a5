#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"

namespace orrery::collective {

/// GPUs for which NCCL has the same constants.
enum class GpuGeneration {
  kVolta,
  kAmpere,
  kHopper,
  kBlackwell,
  kOther,
};

/// Channels that NCCL found, before it doubles them: rings (or trees) of one speed each, GB/s.
struct ChannelGraph {
  int channels = 0;
  double intra_speed = 0;
  double inter_speed = 0;  // equals intra_speed on one node

  [[nodiscard]] double intra_total() const { return channels * intra_speed; }

  bool operator==(const ChannelGraph&) const = default;
};

/// The inputs of the search. Bandwidths in GB/s, one direction.
struct SearchSpace {
  GpuGeneration generation = GpuGeneration::kOther;
  int nodes = 1;
  int ranks_per_node = 1;
  double gpu_link = 0;  // of a GPU, inside the node
  double nic = 0;       // of one NIC in use, at most that of PCIe
  int nics = 0;         // of a node
};

/// Returns the rings that NCCL finds. It tries its speeds from the fastest to half of the best so
/// far and keeps the largest channels times speed, ties to the faster; then it splits fast channels
/// in two. A link slower than all speeds is one channel.
[[nodiscard]] ChannelGraph SearchRings(const SearchSpace& space);

/// Returns the channels of reduction in the switch, as fast as their share of a link allows: one
/// for each rank of a node, over several nodes no more than NICs.
[[nodiscard]] ChannelGraph SearchNvls(const SearchSpace& space);
[[nodiscard]] int DoubledChannels(const ChannelGraph& graph, GpuGeneration generation, int nodes);

inline constexpr std::size_t kNumGenerations = 5;

/// NCCL's bandwidths of links and the speeds that it searches (data/network/nccl_channels.yaml).
struct ChannelTables {
  struct Speeds {  // GB/s, fastest first
    std::vector<double> intra;
    std::vector<double> inter;
  };

  /// A search whose result is known from a log.
  struct KnownGraph {
    SearchSpace space;  // gpu_link is ignored
    ChannelGraph graph;
  };

  std::array<double, kNumGenerations> nvlink_share{};
  std::map<int, double> pcie_gbps;  // by generation
  std::array<Speeds, kNumGenerations> speeds;
  std::array<std::array<int, 2>, kNumGenerations> nvls_channels{};  // on one node, on several
  std::vector<KnownGraph> known_graphs;
  std::map<int, int> cube_mesh_rings;            // by ranks
  std::map<std::string, double> nic_latency_us;  // by kind of network
  std::int64_t p2p_ll_threshold_bytes = 0;
  std::int64_t p2p_least_part_bytes = 0;
  int p2p_network_channels = 0;  // of one send or receive to another node
  int p2p_node_channels = 0;     // to the same node
};

[[nodiscard]] const ChannelTables& EmbeddedChannelTables();

/// Returns NCCL's bandwidth of PCIe, GB/s; newer generations count as the newest known.
[[nodiscard]] double PcieGbps(int generation);

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

  /// RCCL: the same of rings over several nodes, empty otherwise.
  std::array<std::vector<double>, kNumProtocols> ring_correction;
  /// RCCL: shares of the bus that algorithms reach on up to two nodes and on more, instead of
  /// NCCL's limits.
  std::array<ByAlgorithm, 2> bus_share{};
  /// RCCL, several nodes: the largest part of a rank, bytes, for which LL is taken whatever it is
  /// estimated; by all-reduce, all-gather, reduce-scatter.
  std::array<double, 3> ll_bytes_of_rank{};
  bool is_rccl = false;
};

/// Returns the index of a generation in the tables; those without a row count as Ampere.
[[nodiscard]] std::size_t RowOf(GpuGeneration generation);

/// Returns the constants that a version uses: "2.21.5", "2.29.3+cuda13.1". The newest if the
/// text is empty; fails if it is not a version or older than all known ones.
[[nodiscard]] Result<const TunerTables*> FindTunerTables(std::string_view nccl_version);
[[nodiscard]] const std::vector<TunerTables>& AllTunerTables();
[[nodiscard]] const TunerTables& NewestTunerTables();

/// The constants of RCCL, AMD's library (data/network/rccl_tuner.yaml).
[[nodiscard]] const TunerTables& RcclTables();

}  // namespace orrery::collective
