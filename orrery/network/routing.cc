#include "orrery/network/routing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/network/switch_graph.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

// The links from the sender to a switch and those from a switch to the target.
using PathEnds = std::pair<const Attachment*, const Attachment*>;

struct Amount {
  double share = 0;
  std::int64_t latency_ps = 0;  // largest so far
};

// The amounts at switches, in the order of their places, so that sums are deterministic.
using AmountAt = std::map<std::uint32_t, Amount>;

class Spraying {
 public:
  Spraying(const Topology& topology, SwitchGraph& graph, bool by_bandwidth)
      : topology_(topology), graph_(graph), by_bandwidth_(by_bandwidth) {}

  void AddPaths(const PathEnds& ends, double share) {
    const auto [up, down] = ends;
    AmountAt at{{up->place, {.share = share, .latency_ps = Take(*up, share)}}};
    const SwitchGraph::Distances& distances = graph_.DistancesTo(down->place);
    for (std::uint16_t left = distances.From(up->place); left > 0; --left) {
      at = Step(at, distances, left);
    }
    const std::int64_t latency_ps = at.begin()->second.latency_ps + Take(*down, share);
    latency_ps_ = std::max(latency_ps_, latency_ps);
  }

  void AppendTo(Route& route) const {
    for (const auto& [link, share] : share_of_link_) {
      route.uses.push_back({.link = link, .share = share});
    }
    route.latency_ps += latency_ps_;
  }

 private:
  std::int64_t Take(const Attachment& attachment, double share) {
    std::int64_t latency_ps = 0;
    for (std::uint32_t i = 0; i < attachment.num_links; ++i) {
      share_of_link_[attachment.links[i]] += share;
      latency_ps += topology_.link(attachment.links[i]).latency_ps;
    }
    return latency_ps;
  }

  AmountAt Step(const AmountAt& at, const SwitchGraph::Distances& distances, std::uint16_t left) {
    AmountAt next;
    for (const auto& [place, amount] : at) {
      std::vector<SwitchGraph::Edge> nearer;
      double total = 0;
      for (const SwitchGraph::Edge& edge : graph_.edges(place)) {
        if (distances.From(edge.place) < left) {
          nearer.push_back(edge);
          total += WeightOf(edge.link);
        }
      }
      for (const SwitchGraph::Edge& edge : nearer) {
        const double share = amount.share * WeightOf(edge.link) / total;
        share_of_link_[edge.link] += share;
        Amount& amount_there = next[edge.place];
        amount_there.share += share;
        amount_there.latency_ps = std::max(
            amount_there.latency_ps, amount.latency_ps + topology_.link(edge.link).latency_ps);
      }
    }
    return next;
  }

  [[nodiscard]] double WeightOf(LinkId link) const {
    return by_bandwidth_ ? topology_.link(link).bandwidth.bytes_per_second : 1;
  }

  const Topology& topology_;
  SwitchGraph& graph_;
  bool by_bandwidth_;
  std::map<LinkId, double> share_of_link_;
  std::int64_t latency_ps_ = 0;
};

// Appends to `route` a flow that is split evenly over `path_ends`, and between their switches
// over the links that lead nearer, switch by switch. Adds the largest latency of the paths.
void SprayOver(const Topology& topology, SwitchGraph& graph, std::span<const PathEnds> path_ends,
               bool by_bandwidth, Route& route) {
  Spraying spraying(topology, graph, by_bandwidth);
  for (const PathEnds& ends : path_ends) {
    spraying.AddPaths(ends, 1.0 / static_cast<double>(path_ends.size()));
  }
  spraying.AppendTo(route);
}

std::uint64_t HashOf(std::initializer_list<std::uint64_t> parts) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  std::uint64_t hash = 0;
  for (const std::uint64_t part : parts) {
    hash = MixBits(hash + part + kGoldenRatio);
  }
  return hash;
}

class Chooser {
 public:
  Chooser(const RoutingOptions& options, GpuId from, GpuId to, std::uint64_t label)
      : by_target_(options.choice == PathChoice::kByTarget),
        same_hash_(options.same_hash_at_every_tier),
        bits_(by_target_ ? to : HashOf({options.seed, from, to, label})) {}

  std::uint64_t Below(std::uint64_t count) {
    if (count < 2) {
      return 0;
    }
    if (by_target_) {
      const std::uint64_t digit = bits_ % count;
      bits_ /= count;
      return digit;
    }
    const std::uint64_t chosen = (bits_ >> 32) * count >> 32;
    if (!same_hash_) {
      bits_ = HashOf({bits_});
    }
    return chosen;
  }

 private:
  bool by_target_;
  bool same_hash_;
  std::uint64_t bits_;
};

std::vector<std::uint8_t> DownLinks(const Topology& topology, std::span<const LinkId> failed) {
  std::vector<std::uint8_t> is_down(topology.num_links(), 0);
  for (const LinkId link : failed) {
    ORRERY_CHECK(link < is_down.size(), "failed links exist");
    is_down[link] = 1;
  }
  return is_down;
}

void AppendLinks(const Attachment& attachment, std::vector<LinkId>& path) {
  path.insert(path.end(), attachment.links.begin(),
              attachment.links.begin() + attachment.num_links);
}

Result<std::int64_t> LatencyPs(Router& router, GpuId from, GpuId to) {
  std::vector<LinkId> path;
  ORRERY_TRY_STATUS(router.AppendPath(from, to, 0, path));
  return PathLatencyPs(router.topology(), path);
}

}  // namespace

class Router::State {
 public:
  State(const Topology& topology, RoutingOptions options)
      : topology_(topology),
        options_(std::move(options)),
        is_down_(DownLinks(topology, options_.failed_links)),
        graph_(topology, is_down_) {}

  Status AppendPath(GpuId from, GpuId to, std::uint64_t label, std::vector<LinkId>& path) {
    ORRERY_TRY_STATUS(CheckGpus(from, to));
    const GpuId over = RelayOf(from, to);
    if (over == from) {
      return AppendHop(from, to, label, path);
    }
    ORRERY_TRY_STATUS(AppendHop(from, over, label, path));
    return AppendHop(over, to, label, path);
  }

  Result<Route> Spray(GpuId from, GpuId to) {
    ORRERY_TRY_STATUS(CheckGpus(from, to));
    const GpuId over = RelayOf(from, to);
    Route route;
    if (over != from) {
      ORRERY_TRY_STATUS(SprayHop(from, over, route));
    }
    ORRERY_TRY_STATUS(SprayHop(over, to, route));
    return route;
  }

  const Topology& topology() const { return topology_; }

 private:
  Status CheckGpus(GpuId from, GpuId to) const {
    const GpuId larger = std::max(from, to);
    if (larger < topology_.num_gpus()) {
      return {};
    }
    return Fail(Error::Kind::kNotFound,
                fmt::format("no such GPU among {}: {}", topology_.num_gpus(), larger));
  }

  tl::unexpected<Error> NoPath(GpuId from, GpuId to) const {
    return Fail(Error::Kind::kNotFound,
                fmt::format("no path from {} to {}{}", topology_.name(topology_.gpu_node(from)),
                            topology_.name(topology_.gpu_node(to)),
                            options_.failed_links.empty() ? "" : " without the failed links"));
  }

  // The GPU of the sender's island on the target's rail; the sender itself when it need not change.
  GpuId RelayOf(GpuId from, GpuId to) const {
    const std::uint32_t rail = topology_.rail(to);
    const std::span<const GpuId> island = topology_.island_gpus(topology_.island(from));
    const bool changes = options_.change_rail_in_island &&
                         topology_.island(from) != topology_.island(to) && rail < island.size();
    return changes ? island[rail] : from;
  }

  Status AppendHop(GpuId from, GpuId to, std::uint64_t label, std::vector<LinkId>& path) {
    if (from == to || AppendStructured(from, to, label, path)) {
      return {};
    }
    return AppendShortest(from, to, label, path);
  }

  bool AppendStructured(GpuId from, GpuId to, std::uint64_t label,
                        std::vector<LinkId>& path) const {
    if (options_.choice == PathChoice::kDimensionOrder && topology_.torus()) {
      return AppendDimensionOrder(topology_, is_down_, from, to, path);
    }
    const bool is_valiant = options_.choice == PathChoice::kValiant;
    if ((is_valiant || options_.choice == PathChoice::kMinimal) && topology_.dragonfly()) {
      return AppendDragonfly(topology_, is_down_, from, to,
                             is_valiant ? GroupBetween(from, to, label) : std::nullopt, path);
    }
    return false;
  }

  // A group that is neither end's, for traffic between groups.
  std::optional<std::uint32_t> GroupBetween(GpuId from, GpuId to, std::uint64_t label) const {
    const DragonflyShape& shape = *topology_.dragonfly();
    const std::uint32_t per_group = shape.hosts_per_router * shape.routers_per_group;
    const auto [first, second] = std::minmax({from / per_group, to / per_group});
    if (first == second || shape.num_groups < 3) {
      return std::nullopt;
    }
    auto group =
        static_cast<std::uint32_t>(Chooser(options_, from, to, label).Below(shape.num_groups - 2));
    group += group >= first ? 1 : 0;
    group += group >= second ? 1 : 0;
    return group;
  }

  Status AppendShortest(GpuId from, GpuId to, std::uint64_t label, std::vector<LinkId>& path) {
    Chooser chooser(options_, from, to, label);
    if (const std::optional<LinkId> direct = DirectLink(from, to)) {
      path.push_back(*direct);
      return {};
    }
    FindShortest(from, to);
    if (path_ends_.empty()) {
      return NoPath(from, to);
    }
    const auto [up, down] = path_ends_[chooser.Below(path_ends_.size())];
    AppendLinks(*up, path);
    AppendSwitches(up->place, graph_.DistancesTo(down->place), chooser, path);
    AppendLinks(*down, path);
    return {};
  }

  void AppendSwitches(std::uint32_t at, const SwitchGraph::Distances& distances, Chooser& chooser,
                      std::vector<LinkId>& path) {
    for (std::uint16_t left = distances.From(at); left > 0; --left) {
      nearer_.clear();
      for (const SwitchGraph::Edge& edge : graph_.edges(at)) {
        if (distances.From(edge.place) < left) {
          nearer_.push_back(edge);
        }
      }
      const SwitchGraph::Edge& edge = nearer_[chooser.Below(nearer_.size())];
      path.push_back(edge.link);
      at = edge.place;
    }
  }

  std::optional<LinkId> DirectLink(GpuId from, GpuId to) const {
    for (const LinkId link : topology_.out_links(topology_.gpu_node(from))) {
      if (topology_.link(link).to == topology_.gpu_node(to) && is_down_[link] == 0) {
        return link;
      }
    }
    return std::nullopt;
  }

  void FindShortest(GpuId from, GpuId to) {
    path_ends_.clear();
    std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
    for (const Attachment& down : graph_.downlinks(to)) {
      const SwitchGraph::Distances& distances = graph_.DistancesTo(down.place);
      for (const Attachment& up : graph_.uplinks(from)) {
        const std::uint16_t between = distances.From(up.place);
        const std::uint32_t links = up.num_links + between + down.num_links;
        if (between == SwitchGraph::kUnreachable || links > least) {
          continue;
        }
        if (links < least) {
          path_ends_.clear();
          least = links;
        }
        path_ends_.emplace_back(&up, &down);
      }
    }
  }

  Status SprayHop(GpuId from, GpuId to, Route& route) {
    if (from == to) {
      return {};
    }
    if (const std::optional<LinkId> direct = DirectLink(from, to)) {
      route.uses.push_back({.link = *direct});
      route.latency_ps += topology_.link(*direct).latency_ps;
      return {};
    }
    FindShortest(from, to);
    if (path_ends_.empty()) {
      return NoPath(from, to);
    }
    SprayOver(topology_, graph_, path_ends_, options_.spray_by_bandwidth, route);
    return {};
  }

  const Topology& topology_;
  RoutingOptions options_;
  std::vector<std::uint8_t> is_down_;
  SwitchGraph graph_;
  std::vector<PathEnds> path_ends_;
  std::vector<SwitchGraph::Edge> nearer_;
};

Router::Router(const Topology& topology, RoutingOptions options)
    : state_(std::make_unique<State>(topology, std::move(options))) {}

Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;
Router::~Router() = default;

Status Router::AppendPath(GpuId from, GpuId to, std::uint64_t label, std::vector<LinkId>& path) {
  return state_->AppendPath(from, to, label, path);
}

Result<Route> Router::Find(GpuId from, GpuId to, std::uint64_t label) {
  std::vector<LinkId> path;
  ORRERY_TRY_STATUS(state_->AppendPath(from, to, label, path));
  Route route{.latency_ps = PathLatencyPs(topology(), path)};
  for (const LinkId link : path) {
    route.uses.push_back({.link = link});
  }
  return route;
}

Result<Route> Router::Spray(GpuId from, GpuId to) {
  return state_->Spray(from, to);
}

Result<std::uint32_t> Router::Distance(GpuId from, GpuId to) {
  std::vector<LinkId> path;
  ORRERY_TRY_STATUS(state_->AppendPath(from, to, 0, path));
  return static_cast<std::uint32_t>(path.size());
}

const Topology& Router::topology() const {
  return state_->topology();
}

std::int64_t PathLatencyPs(const Topology& topology, std::span<const LinkId> path) {
  std::int64_t latency_ps = 0;
  for (const LinkId link : path) {
    latency_ps += topology.link(link).latency_ps;
  }
  return latency_ps;
}

Result<Placement> Placement::Create(const Topology& topology, std::vector<GpuId> gpu_of_rank) {
  if (gpu_of_rank.empty()) {
    return Invalid("a group needs at least one rank");
  }
  Placement placement;
  std::vector<std::uint32_t> rank_of_gpu(topology.num_gpus(), ~std::uint32_t{0});
  std::map<IslandId, std::size_t> index_of_island;
  for (std::uint32_t rank = 0; rank < gpu_of_rank.size(); ++rank) {
    const GpuId gpu = gpu_of_rank[rank];
    if (gpu >= topology.num_gpus()) {
      return Invalid("rank {} is on GPU {}, but there are {}", rank, gpu, topology.num_gpus());
    }
    if (rank_of_gpu[gpu] != ~std::uint32_t{0}) {
      return Invalid("ranks {} and {} are both on GPU {}", rank_of_gpu[gpu], rank, gpu);
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
    return Invalid("{} ranks from GPU {} in steps of {} do not fit on {} GPUs", num_ranks, first,
                   stride, topology.num_gpus());
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
