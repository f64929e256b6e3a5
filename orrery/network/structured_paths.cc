#include "orrery/network/structured_paths.h"

namespace orrery::network {
namespace {

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
  [[nodiscard]] bool Finish() {
    if (!is_whole_) {
      path_.resize(size_before_);
    }
    return is_whole_;
  }

  [[nodiscard]] NodeId at() const { return at_; }

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
bool AppendSide(const Topology& topology, std::span<const std::uint8_t> is_down, NodeId from,
                NodeId to, const Side& side, bool upwards, std::vector<LinkId>& path) {
  Walk walk(topology, is_down, from, path);
  const std::uint32_t wanted = to / side.stride % side.length;
  std::uint32_t at = from / side.stride % side.length;
  const NodeId base = from - at * side.stride;
  while (at != wanted) {
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

bool AppendDimensionOrder(const Topology& topology, std::span<const std::uint8_t> is_down,
                          GpuId from, GpuId to, std::vector<LinkId>& path) {
  const std::size_t size_before = path.size();
  NodeId at = topology.gpu_node(from);
  const NodeId end = topology.gpu_node(to);
  Side side;
  for (const std::uint32_t length : topology.torus()->sides) {
    side.length = length;
    const std::uint32_t here = at / side.stride % length;
    const std::uint32_t wanted = end / side.stride % length;
    const bool upwards = (wanted + length - here) % length * 2 <= length;
    if (!AppendSide(topology, is_down, at, end, side, upwards, path) &&
        !AppendSide(topology, is_down, at, end, side, !upwards, path)) {
      path.resize(size_before);
      return false;
    }
    at = at - here * side.stride + wanted * side.stride;
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
