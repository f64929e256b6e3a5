#include "orrery/network/switch_graph.h"

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

}  // namespace

SwitchGraph::SwitchGraph(const Topology& topology, std::span<const std::uint8_t> is_down)
    : is_down_(is_down), place_(topology.num_nodes(), kNoPlace) {
  ChooseSwitches(topology);
  NumberSwitches(topology);
  AddEdges(topology);
  AddAttachments(topology);
  distances_.resize(nodes_.size());
}

// Marks the nodes that paths run through with place 0.
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

// Gives adjacent places to switches that hang together.
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

void SwitchGraph::AddEdges(const Topology& topology) {
  for (const NodeId node : nodes_) {
    for (const LinkId link : topology.out_links(node)) {
      const std::uint32_t place = place_[topology.link(link).to];
      if (IsUp(link) && place != kNoPlace) {
        out_.Append({.place = place, .link = link});
      }
    }
    out_.EndRow();
    for (const LinkId link : topology.in_links(node)) {
      const std::uint32_t place = place_[topology.link(link).from];
      if (IsUp(link) && place != kNoPlace) {
        in_.Append({.place = place, .link = link});
      }
    }
    in_.EndRow();
  }
}

void SwitchGraph::AddAttachments(const Topology& topology) {
  for (GpuId gpu = 0; gpu < topology.num_gpus(); ++gpu) {
    const NodeId node = topology.gpu_node(gpu);
    if (place_[node] != kNoPlace) {
      up_.Append({.place = place_[node]});
      down_.Append({.place = place_[node]});
      up_.EndRow();
      down_.EndRow();
      continue;
    }
    AddWaysUp(topology, node);
    AddWaysDown(topology, node);
  }
}

void SwitchGraph::AddWaysUp(const Topology& topology, NodeId gpu) {
  for (const LinkId first : topology.out_links(gpu)) {
    const NodeId next = topology.link(first).to;
    if (!IsUp(first) || !Forwards(topology, next)) {
      continue;
    }
    if (place_[next] != kNoPlace) {
      up_.Append({.place = place_[next], .num_links = 1, .links = {first}});
      continue;
    }
    for (const LinkId second : topology.out_links(next)) {
      const std::uint32_t place = place_[topology.link(second).to];
      if (IsUp(second) && place != kNoPlace) {
        up_.Append({.place = place, .num_links = 2, .links = {first, second}});
      }
    }
  }
  up_.EndRow();
}

void SwitchGraph::AddWaysDown(const Topology& topology, NodeId gpu) {
  for (const LinkId last : topology.in_links(gpu)) {
    const NodeId before = topology.link(last).from;
    if (!IsUp(last) || !Forwards(topology, before)) {
      continue;
    }
    if (place_[before] != kNoPlace) {
      down_.Append({.place = place_[before], .num_links = 1, .links = {last}});
      continue;
    }
    for (const LinkId first : topology.in_links(before)) {
      const std::uint32_t place = place_[topology.link(first).from];
      if (IsUp(first) && place != kNoPlace) {
        down_.Append({.place = place, .num_links = 2, .links = {first, last}});
      }
    }
  }
  down_.EndRow();
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

}  // namespace orrery::network
