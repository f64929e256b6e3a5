#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"

namespace orrery::network {

enum class PathChoice : std::uint8_t {
  kHashed,    // ECMP: one of the shortest paths, by a hash that is fixed for the flow's lifetime
  kByTarget,  // one of the shortest paths, by the target's number: spreads permutations evenly
  kDimensionOrder,  // torus: along the first side, then the second, …; needs Topology::torus
  kMinimal,         // dragonfly: at most one global cable; needs Topology::dragonfly
  kValiant,         // dragonfly: minimal to a group chosen by hash, then minimal
};

struct RoutingOptions {
  PathChoice choice = PathChoice::kHashed;
  std::uint64_t seed = 0;  // of the hash
  /// All switches use the same hash: the choice at one tier repeats at the next, and part of its
  /// links is never used (polarisation).
  bool same_hash_at_every_tier = false;
  /// Spraying splits in proportion to the bandwidth of links, as adaptive routing does, and not
  /// evenly.
  bool spray_by_bandwidth = false;
  /// PXN: to another rail, go over the island to the GPU of the target's rail first.
  bool change_rail_in_island = false;
  std::vector<LinkId> failed_links{};
};

struct Route {
  std::vector<LinkUse> uses{};  // with shares below 1 when the flow is split over equal paths
  std::int64_t latency_ps = 0;  // sum over the links of the longest of the paths
};

/// Finds paths between GPUs. Shortest means fewest links; up and down in trees follows from that.
/// NICs are leaves of their switch and GPUs of their NICs, so a search runs over switches only,
/// once for each destination switch, and is cached: two bytes for each pair of switches. The
/// topology must outlive the router. Calls cache their searches, so a router is not thread-safe;
/// results do not depend on earlier calls.
class Router {
 public:
  explicit Router(const Topology& topology, RoutingOptions options = {});
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;
  ~Router();

  /// Appends the links from one GPU to another to `path`; nothing when both are the same. `label`
  /// distinguishes flows between the same GPUs (queue pairs). Fails when a GPU does not exist or no
  /// path is left, and names both ends. O(links of the switches on the path).
  [[nodiscard]] Status AppendPath(GpuId from, GpuId to, std::uint64_t label,
                                  std::vector<LinkId>& path);
  [[nodiscard]] Result<Route> Find(GpuId from, GpuId to, std::uint64_t label = 0);

  /// Splits a flow over all shortest paths at every switch, evenly (packet spraying) or by
  /// bandwidth (adaptive routing). Costs O(links of all those paths).
  [[nodiscard]] Result<Route> Spray(GpuId from, GpuId to);
  [[nodiscard]] Result<std::uint32_t> Distance(GpuId from, GpuId to);

  [[nodiscard]] const Topology& topology() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::int64_t PathLatencyPs(const Topology& topology, std::span<const LinkId> path);

struct IslandRanks {
  IslandId island = 0;
  std::vector<std::uint32_t> ranks{};  // ascending
};

class Placement {
 public:
  /// Fails when a GPU does not exist or has two ranks.
  [[nodiscard]] static Result<Placement> Create(const Topology& topology,
                                                std::vector<GpuId> gpu_of_rank);

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
