#pragma once

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

/// Returns the number of channels after NCCL doubled them.
[[nodiscard]] int DoubledChannels(const ChannelGraph& graph, GpuGeneration generation, int nodes);

}  // namespace orrery::collective
