#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "orrery/collective/channel_search.h"

namespace orrery::collective {

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
};

/// The embedded tables.
[[nodiscard]] const ChannelTables& EmbeddedChannelTables();

/// Returns NCCL's bandwidth of PCIe, GB/s; newer generations count as the newest known.
[[nodiscard]] double PcieGbps(int generation);

}  // namespace orrery::collective
