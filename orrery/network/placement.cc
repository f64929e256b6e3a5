#include "orrery/network/placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace orrery::network {
namespace {

Result<std::int64_t> LatencyPs(Router& router, GpuId from, GpuId to) {
  std::vector<LinkId> path;
  ORRERY_TRY_STATUS(router.AppendPath(from, to, 0, path));
  return PathLatencyPs(router.topology(), path);
}

}  // namespace

Result<Placement> Placement::Create(const Topology& topology, std::vector<GpuId> gpu_of_rank) {
  if (gpu_of_rank.empty()) {
    return Fail(Error::Kind::kInvalidInput, "a group needs at least one rank");
  }
  Placement placement;
  std::vector<std::uint32_t> rank_of_gpu(topology.num_gpus(), ~std::uint32_t{0});
  std::map<IslandId, std::size_t> index_of_island;
  for (std::uint32_t rank = 0; rank < gpu_of_rank.size(); ++rank) {
    const GpuId gpu = gpu_of_rank[rank];
    if (gpu >= topology.num_gpus()) {
      return Fail(Error::Kind::kInvalidInput, fmt::format("rank {} is on GPU {}, but there are {}",
                                                          rank, gpu, topology.num_gpus()));
    }
    if (rank_of_gpu[gpu] != ~std::uint32_t{0}) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("ranks {} and {} are both on GPU {}", rank_of_gpu[gpu], rank, gpu));
    }
    rank_of_gpu[gpu] = rank;
    const auto [found, is_new] =
        index_of_island.try_emplace(topology.island(gpu), placement.islands_.size());
    if (is_new) {
      placement.islands_.push_back({.island = topology.island(gpu)});
    }
    placement.islands_[found->second].ranks.push_back(rank);
  }
  placement.gpu_of_rank_ = std::move(gpu_of_rank);
  return placement;
}

Result<Placement> Placement::Strided(const Topology& topology, GpuId first, std::uint32_t num_ranks,
                                     std::uint32_t stride) {
  const std::uint64_t last = first + std::uint64_t{num_ranks} * stride;
  if (num_ranks > topology.num_gpus() || last > topology.num_gpus() + std::uint64_t{stride}) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} ranks from GPU {} in steps of {} do not fit on {} GPUs", num_ranks,
                            first, stride, topology.num_gpus()));
  }
  std::vector<GpuId> gpus;
  for (std::uint32_t rank = 0; rank < num_ranks; ++rank) {
    gpus.push_back(first + rank * stride);
  }
  return Create(topology, std::move(gpus));
}

Result<PlacementLatencies> FindLatencies(const Placement& placement, Router& router) {
  const std::span<const IslandRanks> islands = placement.islands();
  const auto first_gpu = [&](std::size_t i) { return placement.gpu(islands[i].ranks.front()); };
  PlacementLatencies latencies;
  for (std::size_t i = 0; i < islands.size(); ++i) {
    if (islands[i].ranks.size() > 1) {
      ORRERY_TRY(const std::int64_t inside,
                 LatencyPs(router, first_gpu(i), placement.gpu(islands[i].ranks[1])));
      latencies.island_ps = std::max(latencies.island_ps, inside);
    }
    ORRERY_TRY(const std::int64_t next,
               LatencyPs(router, first_gpu(i), first_gpu((i + 1) % islands.size())));
    latencies.neighbour_ps = std::max(latencies.neighbour_ps, next);
  }
  return latencies;
}

}  // namespace orrery::network
