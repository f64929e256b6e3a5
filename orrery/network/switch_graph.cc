#include "orrery/network/switch_graph.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};
constexpr NodeId kNoNode = ~NodeId{0};

bool Forwards(const Topology& topology, NodeId node) {
  return topology.kind(node) != NodeKind::kGpu || topology.gpus_forward();
}

// The forwarding neighbours of a node, as far as they matter: none, the only one, or several.
struct Neighbours {
  std::uint32_t count = 0;  // 2 stands for more
  NodeId first = kNoNode;

  void Add(NodeId node) {
    if (count == 0) {
      first = node;
      count = 1;
    } else if (node != first) {
      count = 2;
    }
  }
};

// Appends links node by node; notes when one is missing.
class Walk {
 public:
  Walk(const Topology& topology, std::span<const std::uint8_t> is_down, NodeId at,
       std::vector<LinkId>& path)
      : topology_(topology), is_down_(is_down), at_(at), path_(path), size_before_(path.size()) {}

  void To(NodeId next) {
    if (at_ == next || !is_whole_) {
      return;
    }
    is_whole_ = false;
    for (const LinkId link : topology_.out_links(at_)) {
      if (topology_.link(link).to == next && is_down_[link] == 0) {
        path_.push_back(link);
        at_ = next;
        is_whole_ = true;
        return;
      }
    }
  }

  // Ends the walk: takes the links back when one was missing.
  bool Finish() {
    if (!is_whole_) {
      path_.resize(size_before_);
    }
    return is_whole_;
  }

  NodeId at() const { return at_; }

 private:
  const Topology& topology_;
  std::span<const std::uint8_t> is_down_;
  NodeId at_;
  std::vector<LinkId>& path_;
  std::size_t size_before_;
  bool is_whole_ = true;
};

struct Side {
  std::uint32_t stride = 1;
  std::uint32_t length = 1;
};

// Walks along one side of a torus until the coordinate is that of `to`, up or down.
bool AppendSide(Walk walk, NodeId to, const Side& side, bool upwards) {
  const NodeId from = walk.at();
  const std::uint32_t target = to / side.stride % side.length;
  std::uint32_t at = from / side.stride % side.length;
  const NodeId base = from - at * side.stride;
  while (at != target) {
    at = (at + (upwards ? 1 : side.length - 1)) % side.length;
    walk.To(base + at * side.stride);
  }
  return walk.Finish();
}

// Walks from the router it is at to a router, minimally.
void WalkToRouter(const DragonflyShape& shape, Walk& walk, NodeId to_router) {
  const std::uint32_t routers = shape.routers_per_group;
  const std::uint32_t groups = shape.num_groups;
  const std::uint32_t globals = (groups - 1) / routers;
  const std::uint32_t from_group = (walk.at() - shape.first_router) / routers;
  const std::uint32_t to_group = (to_router - shape.first_router) / routers;
  if (from_group != to_group) {
    const std::uint32_t port = (to_group + groups - from_group - 1) % groups;
    const std::uint32_t other_port = groups - 2 - port;
    walk.To(shape.first_router + from_group * routers + port / globals);
    walk.To(shape.first_router + to_group * routers + other_port / globals);
  }
  walk.To(to_router);
}

// The router at which a cable from one group arrives in another.
NodeId EntryRouter(const DragonflyShape& shape, std::uint32_t from_group, std::uint32_t to_group) {
  const std::uint32_t groups = shape.num_groups;
  const std::uint32_t globals = (groups - 1) / shape.routers_per_group;
  const std::uint32_t port = (from_group + groups - to_group - 1) % groups;
  return shape.first_router + to_group * shape.routers_per_group + port / globals;
}

}  // namespace

SwitchGraph::SwitchGraph(const Topology& topology, std::span<const std::uint8_t> is_down)
    : is_down_(is_down), place_(topology.num_nodes(), kNoPlace) {
  ChooseSwitches(topology);
  NumberSwitches(topology);
  AddEdges(topology, kForward, out_);
  AddEdges(topology, kBackward, in_);
  AddAttachments(topology, kForward, up_);
  AddAttachments(topology, kBackward, down_);
  distances_.resize(nodes_.size());
}

// Marks the nodes on paths with place 0.
void SwitchGraph::ChooseSwitches(const Topology& topology) {
  std::vector<Neighbours> neighbours(topology.num_nodes());
  for (LinkId link = 0; link < topology.num_links(); ++link) {
    const Link& ends = topology.link(link);
    if (IsUp(link) && Forwards(topology, ends.from) && Forwards(topology, ends.to)) {
      neighbours[ends.from].Add(ends.to);
      neighbours[ends.to].Add(ends.from);
    }
  }
  for (NodeId node = 0; node < topology.num_nodes(); ++node) {
    const bool is_dead_end =
        neighbours[node].count == 1 && neighbours[neighbours[node].first].count > 1;
    if (Forwards(topology, node) && !is_dead_end) {
      place_[node] = 0;
    }
  }
}

// Gives adjacent places to connected switches.
void SwitchGraph::NumberSwitches(const Topology& topology) {
  std::vector<std::uint8_t> is_numbered(topology.num_nodes(), 0);
  const auto visit = [&](NodeId node) {
    if (place_[node] != kNoPlace && is_numbered[node] == 0) {
      is_numbered[node] = 1;
      place_[node] = size();
      nodes_.push_back(node);
    }
  };
  for (NodeId start = 0; start < topology.num_nodes(); ++start) {
    const std::uint32_t begin = size();
    visit(start);
    for (std::uint32_t place = begin; place < size(); ++place) {
      for (const LinkId link : topology.out_links(nodes_[place])) {
        visit(topology.link(link).to);
      }
      for (const LinkId link : topology.in_links(nodes_[place])) {
        visit(topology.link(link).from);
      }
    }
    part_begin_.resize(size(), begin);
    part_end_.resize(size(), size());
  }
}

void SwitchGraph::AddEdges(const Topology& topology, const Direction& direction,
                           Rows<Edge>& edges) {
  for (const NodeId node : nodes_) {
    for (const LinkId link : (topology.*direction.links)(node)) {
      const std::uint32_t place = place_[topology.link(link).*direction.far_end];
      if (IsUp(link) && place != kNoPlace) {
        edges.Append({.place = place, .link = link});
      }
    }
    edges.EndRow();
  }
}

void SwitchGraph::AddAttachments(const Topology& topology, const Direction& direction,
                                 Rows<Attachment>& attachments) {
  for (GpuId gpu = 0; gpu < topology.num_gpus(); ++gpu) {
    const NodeId node = topology.gpu_node(gpu);
    if (place_[node] != kNoPlace) {
      attachments.Append({.place = place_[node]});
    } else {
      AddPathsOf(topology, node, direction, attachments);
    }
    attachments.EndRow();
  }
}

// Adds the paths of one or two links between a GPU and switches.
void SwitchGraph::AddPathsOf(const Topology& topology, NodeId gpu, const Direction& direction,
                             Rows<Attachment>& attachments) {
  for (const LinkId near : (topology.*direction.links)(gpu)) {
    const NodeId next = topology.link(near).*direction.far_end;
    if (!IsUp(near) || !Forwards(topology, next)) {
      continue;
    }
    if (place_[next] != kNoPlace) {
      attachments.Append({.place = place_[next], .num_links = 1, .links = {near}});
      continue;
    }
    for (const LinkId far : (topology.*direction.links)(next)) {
      const std::uint32_t place = place_[topology.link(far).*direction.far_end];
      if (IsUp(far) && place != kNoPlace) {
        const bool is_up = direction.far_end == &Link::to;
        attachments.Append(
            {.place = place, .num_links = 2, .links = {is_up ? near : far, is_up ? far : near}});
      }
    }
  }
}

const SwitchGraph::Distances& SwitchGraph::DistancesTo(std::uint32_t place) {
  Distances& distances = distances_[place];
  if (!distances.links_.empty()) {
    return distances;
  }
  const std::uint32_t first = part_begin_[place];
  distances.first_ = first;
  distances.links_.assign(part_end_[place] - first, kUnreachable);
  distances.links_[place - first] = 0;
  queue_.assign(1, place);
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const std::uint32_t at = queue_[head];
    const auto next = static_cast<std::uint16_t>(distances.links_[at - first] + 1);
    for (const Edge& edge : in_.Row(at)) {
      if (distances.links_[edge.place - first] == kUnreachable) {
        distances.links_[edge.place - first] = next;
        queue_.push_back(edge.place);
      }
    }
  }
  return distances;
}

bool AppendDimensionOrder(const Topology& topology, std::span<const std::uint8_t> is_down,
                          GpuId from, GpuId to, std::vector<LinkId>& path) {
  const std::size_t size_before = path.size();
  NodeId at = topology.gpu_node(from);
  const NodeId end = topology.gpu_node(to);
  Side side;
  for (const std::uint32_t length : topology.torus()->sides) {
    side.length = length;
    const std::uint32_t here = at / side.stride % length;
    const std::uint32_t target = end / side.stride % length;
    const bool upwards = (target + length - here) % length * 2 <= length;
    const Walk walk(topology, is_down, at, path);
    if (!AppendSide(walk, end, side, upwards) && !AppendSide(walk, end, side, !upwards)) {
      path.resize(size_before);
      return false;
    }
    at = at - here * side.stride + target * side.stride;
    side.stride *= length;
  }
  return true;
}

bool AppendDragonfly(const Topology& topology, std::span<const std::uint8_t> is_down, GpuId from,
                     GpuId to, std::optional<std::uint32_t> over_group, std::vector<LinkId>& path) {
  const DragonflyShape& shape = *topology.dragonfly();
  const NodeId from_router = shape.first_router + from / shape.hosts_per_router;
  const NodeId to_router = shape.first_router + to / shape.hosts_per_router;
  Walk walk(topology, is_down, topology.gpu_node(from), path);
  walk.To(from_router);
  if (over_group) {
    const std::uint32_t from_group = (from_router - shape.first_router) / shape.routers_per_group;
    WalkToRouter(shape, walk, EntryRouter(shape, from_group, *over_group));
  }
  WalkToRouter(shape, walk, to_router);
  walk.To(topology.gpu_node(to));
  return walk.Finish();
}

}  // namespace orrery::network
