#include "orrery/network/topology.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"

namespace orrery::network {
namespace {

constexpr IslandId kNoIsland = ~IslandId{0};

// The connected components over some of the links.
class Components {
 public:
  explicit Components(std::uint32_t num_nodes) : parent_(num_nodes) {
    std::iota(parent_.begin(), parent_.end(), NodeId{0});
  }

  NodeId Root(NodeId node) {
    while (parent_[node] != node) {
      parent_[node] = parent_[parent_[node]];
      node = parent_[node];
    }
    return node;
  }

  void Join(NodeId one, NodeId other) {
    one = Root(one);
    other = Root(other);
    parent_[std::max(one, other)] = std::min(one, other);
  }

 private:
  std::vector<NodeId> parent_;
};

// Fills one row of links for each node, keyed by one of the link's ends.
void BuildRows(std::span<const Link> links, NodeId Link::* end, std::uint32_t num_nodes,
               std::vector<std::uint32_t>& begin, std::vector<LinkId>& rows) {
  begin.assign(num_nodes + 1, 0);
  for (const Link& link : links) {
    ++begin[link.*end + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  rows.resize(links.size());
  for (LinkId link = 0; link < links.size(); ++link) {
    rows[next[links[link].*end]++] = link;
  }
}

Status CheckLink(const Topology& topology, LinkId id) {
  const Link& link = topology.link(id);
  const NodeId unknown = std::max(link.from, link.to);
  if (unknown >= topology.num_nodes()) {
    return Invalid("link {} connects a node that does not exist: {}", id, unknown);
  }
  const std::string name = topology.LinkName(id);
  if (link.from == link.to) {
    return Invalid("link {} must connect two different nodes", name);
  }
  const double rate = link.bandwidth.bytes_per_second;
  if (!(rate > 0) || !std::isfinite(rate)) {
    return Invalid("bandwidth of link {} must be above zero: {} bytes per second", name, rate);
  }
  if (link.latency_ps < 0) {
    return Invalid("latency of link {} must not be negative: {} ps", name, link.latency_ps);
  }
  return {};
}

Status CheckNoDuplicates(const Topology& topology) {
  std::vector<NodeId> last_from(topology.num_nodes(), topology.num_nodes());
  std::vector<unsigned> kinds(topology.num_nodes(), 0);
  for (NodeId node = 0; node < topology.num_nodes(); ++node) {
    for (const LinkId id : topology.out_links(node)) {
      const Link& link = topology.link(id);
      const unsigned bit = 1U << static_cast<unsigned>(link.kind);
      if (last_from[link.to] != node) {
        last_from[link.to] = node;
        kinds[link.to] = 0;
      }
      if ((kinds[link.to] & bit) != 0) {
        return Invalid("link {} exists twice; write one link with the bandwidth of both",
                       topology.LinkName(id));
      }
      kinds[link.to] |= bit;
    }
  }
  return {};
}

Status CheckConnected(const Topology& topology) {
  Components parts(topology.num_nodes());
  for (const Link& link : topology.links()) {
    parts.Join(link.from, link.to);
  }
  const NodeId first = topology.gpu_node(0);
  for (GpuId gpu = 1; gpu < topology.num_gpus(); ++gpu) {
    const NodeId node = topology.gpu_node(gpu);
    if (parts.Root(node) != parts.Root(first)) {
      return Invalid("no links lead from {} to {}; connect them or leave one out",
                     topology.name(first), topology.name(node));
    }
  }
  return {};
}

}  // namespace

std::vector<double> Topology::Capacities() const {
  std::vector<double> capacities;
  capacities.reserve(links_.size());
  for (const Link& link : links_) {
    capacities.push_back(link.bandwidth.bytes_per_second);
  }
  return capacities;
}

std::string Topology::LinkName(LinkId link) const {
  return fmt::format("{} → {}", name_[links_[link].from], name_[links_[link].to]);
}

void Topology::FindIslands() {
  Components parts(num_nodes());
  for (const Link& link : links_) {
    if (link.kind != LinkKind::kNetwork) {
      parts.Join(link.from, link.to);
    }
  }
  std::vector<IslandId> island_of_root(num_nodes(), kNoIsland);
  std::vector<std::uint32_t> size;
  for (const NodeId node : gpu_nodes_) {
    IslandId& island = island_of_root[parts.Root(node)];
    if (island == kNoIsland) {
      island = static_cast<IslandId>(size.size());
      size.push_back(0);
    }
    island_of_gpu_.push_back(island);
    rail_of_gpu_.push_back(size[island]++);
  }
  island_begin_.assign(size.size() + 1, 0);
  std::partial_sum(size.begin(), size.end(), island_begin_.begin() + 1);
  island_gpus_.resize(num_gpus());
  for (GpuId gpu = 0; gpu < num_gpus(); ++gpu) {
    island_gpus_[island_begin_[island_of_gpu_[gpu]] + rail_of_gpu_[gpu]] = gpu;
  }
}

Result<LinkId> Topology::FindLink(std::string_view from, std::string_view to) const {
  const auto node = std::ranges::find(name_, from);
  if (node == name_.end()) {
    return Fail(Error::Kind::kNotFound, fmt::format("no such node: {}", from));
  }
  for (const LinkId link : out_links(static_cast<NodeId>(node - name_.begin()))) {
    if (name_[links_[link].to] == to) {
      return link;
    }
  }
  return Fail(Error::Kind::kNotFound, fmt::format("no link leads from {} to {}", from, to));
}

Result<Topology> Topology::WithScaledLinks(std::span<const LinkId> links, double factor) const {
  if (!(factor > 0) || !std::isfinite(factor)) {
    return Invalid("bandwidth must be scaled by a factor above zero: {}", factor);
  }
  Topology scaled = *this;
  for (const LinkId link : links) {
    ORRERY_CHECK(link < num_links(), "scaled links exist");
    scaled.links_[link].bandwidth.bytes_per_second *= factor;
  }
  return scaled;
}

NodeId TopologyBuilder::AddNode(NodeKind kind, std::string name) {
  const NodeId node = topology_.num_nodes();
  topology_.kind_.push_back(kind);
  topology_.name_.push_back(std::move(name));
  if (kind == NodeKind::kGpu) {
    topology_.gpu_nodes_.push_back(node);
  }
  return node;
}

void TopologyBuilder::AddLink(NodeId from, NodeId to, const Wire& wire) {
  topology_.links_.push_back({.from = from,
                              .to = to,
                              .bandwidth = wire.bandwidth,
                              .latency_ps = wire.latency_ps,
                              .kind = wire.kind});
}

void TopologyBuilder::AddCable(NodeId one, NodeId other, const Wire& wire) {
  AddLink(one, other, wire);
  AddLink(other, one, wire);
}

Result<Topology> TopologyBuilder::Build() && {
  Topology& topology = topology_;
  if (topology.num_gpus() == 0) {
    return Invalid("a topology needs at least one GPU");
  }
  for (LinkId link = 0; link < topology.num_links(); ++link) {
    ORRERY_TRY_STATUS(CheckLink(topology, link));
  }
  BuildRows(topology.links_, &Link::from, topology.num_nodes(), topology.out_begin_,
            topology.out_links_);
  BuildRows(topology.links_, &Link::to, topology.num_nodes(), topology.in_begin_,
            topology.in_links_);
  ORRERY_TRY_STATUS(CheckNoDuplicates(topology));
  ORRERY_TRY_STATUS(CheckConnected(topology));
  topology.FindIslands();
  return std::move(topology_);
}

}  // namespace orrery::network
