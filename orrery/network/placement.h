#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::network {

/// The ranks of a group that lie in one island.
struct IslandRanks {
  IslandId island = 0;
  std::vector<std::uint32_t> ranks{};  // ascending
};

/// Which GPU each rank of a group has.
class Placement {
 public:
  /// Fails when a GPU does not exist or has two ranks.
  [[nodiscard]] static Result<Placement> Create(const Topology& topology,
                                                std::vector<GpuId> gpu_of_rank);

  /// Rank i on GPU first + i * stride.
  [[nodiscard]] static Result<Placement> Strided(const Topology& topology, GpuId first,
                                                 std::uint32_t num_ranks, std::uint32_t stride = 1);

  [[nodiscard]] std::uint32_t num_ranks() const {
    return static_cast<std::uint32_t>(gpu_of_rank_.size());
  }

  [[nodiscard]] GpuId gpu(std::uint32_t rank) const { return gpu_of_rank_[rank]; }

  [[nodiscard]] std::span<const GpuId> gpus() const { return gpu_of_rank_; }

  /// Islands in the order of their first rank.
  [[nodiscard]] std::span<const IslandRanks> islands() const { return islands_; }

 private:
  std::vector<GpuId> gpu_of_rank_;
  std::vector<IslandRanks> islands_;
};

/// What closed forms of collectives ask of a placement. Bandwidths and latencies that do not exist
/// (one rank, one island, GPUs that cannot leave) are 0.
struct PlacementFacts {
  std::uint32_t num_ranks = 0;
  std::uint32_t num_islands = 0;
  std::uint32_t least_ranks_per_island = 0;
  std::uint32_t most_ranks_per_island = 0;
  /// Out of one GPU into its island: over NVLink, without NVLink over PCIe. The least of all ranks.
  Bandwidth island_per_gpu{};
  LinkKind island_kind = LinkKind::kNvlink;
  /// Out of an island, all NICs; the least of all islands.
  Bandwidth network_per_island{};
  /// The same for each GPU of the island, whether or not it has a rank.
  Bandwidth network_per_gpu{};
  /// Along the links between the first two ranks of an island; the largest of all islands.
  std::int64_t island_latency_ps = 0;
  /// Between the first ranks of islands that follow each other, last to first too; the largest.
  std::int64_t neighbour_latency_ps = 0;
  /// From the first island to the one that is farthest.
  std::int64_t farthest_latency_ps = 0;
  /// Links that are neither NVLink nor PCIe on those ways.
  std::uint32_t neighbour_network_links = 0;
  std::uint32_t farthest_network_links = 0;
};

/// O(islands) searches. Fails when ranks cannot reach each other, and names two.
[[nodiscard]] Result<PlacementFacts> Describe(const Placement& placement, Router& router);

}  // namespace orrery::network
