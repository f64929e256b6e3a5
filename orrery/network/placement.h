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

/// The GPU of each rank of a group.
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

/// The largest latencies along the links between ranks of a placement; 0 without such a pair.
struct PlacementLatencies {
  /// Between the first two ranks of an island.
  std::int64_t island_ps = 0;
  /// Between the first ranks of consecutive islands, the last and the first included.
  std::int64_t neighbour_ps = 0;
};

/// O(islands) searches. Fails when ranks cannot reach each other, and names two.
[[nodiscard]] Result<PlacementLatencies> FindLatencies(const Placement& placement, Router& router);

}  // namespace orrery::network
