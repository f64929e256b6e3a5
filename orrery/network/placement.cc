#include "orrery/network/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace orrery::network {
namespace {

// What a GPU can send into its island.
struct IslandPort {
  double bytes_per_second = 0;
  LinkKind kind = LinkKind::kNvlink;
};

IslandPort PortInto(const Topology& topology, GpuId gpu) {
  IslandPort nvlink;
  IslandPort pcie{.kind = LinkKind::kPcie};
  for (const LinkId id : topology.out_links(topology.gpu_node(gpu))) {
    const Link& link = topology.link(id);
    if (link.kind == LinkKind::kNvlink) {
      nvlink.bytes_per_second += link.bandwidth.bytes_per_second;
    } else if (link.kind != LinkKind::kNetwork && topology.kind(link.to) != NodeKind::kNic) {
      pcie.bytes_per_second += link.bandwidth.bytes_per_second;
    }
  }
  return nvlink.bytes_per_second > 0 ? nvlink : pcie;
}

void TakeLeast(Bandwidth& least, double bytes_per_second, bool is_first) {
  least.bytes_per_second =
      is_first ? bytes_per_second : std::min(least.bytes_per_second, bytes_per_second);
}

void DescribeGpus(const Topology& topology, const Placement& placement, PlacementFacts& facts) {
  for (std::uint32_t rank = 0; rank < placement.num_ranks(); ++rank) {
    const IslandPort port = PortInto(topology, placement.gpu(rank));
    if (rank == 0 || port.bytes_per_second < facts.island_per_gpu.bytes_per_second) {
      facts.island_per_gpu = {port.bytes_per_second};
      facts.island_kind = port.kind;
    }
  }
}

void DescribeIslands(const Topology& topology, const Placement& placement, PlacementFacts& facts) {
  facts.least_ranks_per_island = placement.num_ranks();
  for (std::size_t i = 0; i < placement.islands().size(); ++i) {
    const IslandRanks& island = placement.islands()[i];
    const auto ranks = static_cast<std::uint32_t>(island.ranks.size());
    const double uplink = topology.island_uplink(island.island).bytes_per_second;
    facts.least_ranks_per_island = std::min(facts.least_ranks_per_island, ranks);
    facts.most_ranks_per_island = std::max(facts.most_ranks_per_island, ranks);
    TakeLeast(facts.network_per_island, uplink, i == 0);
    TakeLeast(facts.network_per_gpu,
              uplink / static_cast<double>(topology.island_gpus(island.island).size()), i == 0);
  }
}

struct Reach {
  std::int64_t latency_ps = 0;
  std::uint32_t network_links = 0;

  void TakeLarger(const Reach& other) {
    latency_ps = std::max(latency_ps, other.latency_ps);
    network_links = std::max(network_links, other.network_links);
  }
};

Result<Reach> ReachOf(Router& router, GpuId from, GpuId to) {
  std::vector<LinkId> path;
  ORRERY_TRY_STATUS(router.AppendPath(from, to, 0, path));
  Reach reach{.latency_ps = PathLatencyPs(router.topology(), path)};
  for (const LinkId link : path) {
    reach.network_links += router.topology().link(link).kind == LinkKind::kNetwork ? 1 : 0;
  }
  return reach;
}

Status DescribeWays(const Placement& placement, Router& router, PlacementFacts& facts) {
  const std::span<const IslandRanks> islands = placement.islands();
  const auto first_gpu = [&](std::size_t i) { return placement.gpu(islands[i].ranks.front()); };
  Reach neighbour;
  Reach farthest;
  for (std::size_t i = 0; i < islands.size(); ++i) {
    if (islands[i].ranks.size() > 1) {
      ORRERY_TRY(const Reach inside,
                 ReachOf(router, first_gpu(i), placement.gpu(islands[i].ranks[1])));
      facts.island_latency_ps = std::max(facts.island_latency_ps, inside.latency_ps);
    }
    ORRERY_TRY(const Reach next,
               ReachOf(router, first_gpu(i), first_gpu((i + 1) % islands.size())));
    ORRERY_TRY(const Reach far, ReachOf(router, first_gpu(0), first_gpu(i)));
    neighbour.TakeLarger(next);
    farthest.TakeLarger(far);
  }
  facts.neighbour_latency_ps = neighbour.latency_ps;
  facts.neighbour_network_links = neighbour.network_links;
  facts.farthest_latency_ps = farthest.latency_ps;
  facts.farthest_network_links = farthest.network_links;
  return {};
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

Result<PlacementFacts> Describe(const Placement& placement, Router& router) {
  PlacementFacts facts{.num_ranks = placement.num_ranks(),
                       .num_islands = static_cast<std::uint32_t>(placement.islands().size())};
  DescribeGpus(router.topology(), placement, facts);
  DescribeIslands(router.topology(), placement, facts);
  ORRERY_TRY_STATUS(DescribeWays(placement, router, facts));
  return facts;
}

}  // namespace orrery::network
