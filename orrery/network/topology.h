#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery::network {

using NodeId = std::uint32_t;
using LinkId = std::uint32_t;  // one direction of a cable
using GpuId = std::uint32_t;   // 0 … num_gpus - 1 in the order in which GPUs were added
using IslandId = std::uint32_t;

enum class NodeKind : std::uint8_t {
  kGpu,
  kNic,  // one port; a NIC with two ports is two nodes
  kSwitch,
  kHost,  // a CPU and its root complex
};

enum class LinkKind : std::uint8_t {
  kNvlink,
  kPcie,
  kHostBus,  // between the CPUs of a server
  kNetwork,  // leaves the server
};

struct Link {
  NodeId from = 0;
  NodeId to = 0;
  Bandwidth bandwidth{};
  std::int64_t latency_ps = 0;
  LinkKind kind = LinkKind::kNetwork;
};

struct Wire {
  Bandwidth bandwidth{};  // in each direction
  std::int64_t latency_ps = 0;
  LinkKind kind = LinkKind::kNetwork;
};

/// Sides of a torus; the GPU at (x0, x1, …) has the number x0 + sides[0] * (x1 + sides[1] * …).
struct TorusShape {
  std::vector<std::uint32_t> sides{};
};

/// Groups of routers: every two routers of a group and every two groups are joined. Router r of
/// group g is node `first_router + g * routers_per_group + r` and has `hosts_per_router` GPUs.
struct DragonflyShape {
  std::uint32_t hosts_per_router = 0;
  std::uint32_t routers_per_group = 0;
  std::uint32_t num_groups = 0;
  NodeId first_router = 0;
};

/// Nodes and the directed links between them. Made by TopologyBuilder, then never changed; links of
/// a node are one row of an array, so a walk over the network touches little memory.
///
/// An *island* is a set of nodes connected without links of the kind kNetwork: a server, or a rack
/// that shares NVLink.
class Topology {
 public:
  [[nodiscard]] std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(kind_.size()); }

  [[nodiscard]] std::uint32_t num_links() const {
    return static_cast<std::uint32_t>(links_.size());
  }

  [[nodiscard]] std::uint32_t num_gpus() const {
    return static_cast<std::uint32_t>(gpu_nodes_.size());
  }

  [[nodiscard]] NodeKind kind(NodeId node) const { return kind_[node]; }

  [[nodiscard]] const std::string& name(NodeId node) const { return name_[node]; }

  [[nodiscard]] NodeId gpu_node(GpuId gpu) const { return gpu_nodes_[gpu]; }

  [[nodiscard]] const Link& link(LinkId link) const { return links_[link]; }

  [[nodiscard]] std::span<const Link> links() const { return links_; }

  /// Links that leave a node, in the order in which they were added.
  [[nodiscard]] std::span<const LinkId> out_links(NodeId node) const {
    return {out_links_.data() + out_begin_[node], out_begin_[node + 1] - out_begin_[node]};
  }

  /// Links that end at a node, in the order in which they were added.
  [[nodiscard]] std::span<const LinkId> in_links(NodeId node) const {
    return {in_links_.data() + in_begin_[node], in_begin_[node + 1] - in_begin_[node]};
  }

  /// Returns true if GPUs forward traffic of other GPUs, as in rings, meshes and tori.
  [[nodiscard]] bool gpus_forward() const { return gpus_forward_; }

  /// Islands that have GPUs, numbered by their first GPU.
  [[nodiscard]] std::uint32_t num_islands() const {
    return static_cast<std::uint32_t>(island_begin_.size() - 1);
  }

  [[nodiscard]] IslandId island(GpuId gpu) const { return island_of_gpu_[gpu]; }

  /// GPUs of an island, ascending.
  [[nodiscard]] std::span<const GpuId> island_gpus(IslandId island) const {
    return {island_gpus_.data() + island_begin_[island],
            island_begin_[island + 1] - island_begin_[island]};
  }

  /// Position of a GPU in its island: the rail it is on.
  [[nodiscard]] std::uint32_t rail(GpuId gpu) const { return rail_of_gpu_[gpu]; }

  /// Bandwidth of every link in bytes per second, as flow simulations take it.
  [[nodiscard]] std::vector<double> Capacities() const;

  /// "nic3 → leaf0".
  [[nodiscard]] std::string LinkName(LinkId link) const;

  /// Finds the link between two nodes by their names, the first when there are several kinds; fails
  /// with the name that is not there. O(nodes).
  [[nodiscard]] Result<LinkId> FindLink(std::string_view from, std::string_view to) const;

  /// The same with links whose bandwidth is multiplied: a slow NIC, a cable that lost lanes. Fails
  /// unless `factor` is above zero; a link that is down is an option of routing.
  [[nodiscard]] Result<Topology> WithScaledLinks(std::span<const LinkId> links,
                                                 double factor) const;

  [[nodiscard]] const std::optional<TorusShape>& torus() const { return torus_; }

  [[nodiscard]] const std::optional<DragonflyShape>& dragonfly() const { return dragonfly_; }

 private:
  friend class TopologyBuilder;

  void FindIslands();

  std::vector<NodeKind> kind_;
  std::vector<std::string> name_;
  std::vector<NodeId> gpu_nodes_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> out_begin_;
  std::vector<LinkId> out_links_;
  std::vector<std::uint32_t> in_begin_;
  std::vector<LinkId> in_links_;
  std::vector<IslandId> island_of_gpu_;
  std::vector<std::uint32_t> rail_of_gpu_;
  std::vector<std::uint32_t> island_begin_{0};
  std::vector<GpuId> island_gpus_;
  bool gpus_forward_ = false;
  std::optional<TorusShape> torus_;
  std::optional<DragonflyShape> dragonfly_;
};

/// Collects nodes and links; Build reports mistakes, so that callers need not check each call.
class TopologyBuilder {
 public:
  NodeId AddNode(NodeKind kind, std::string name);

  NodeId AddGpu(std::string name) { return AddNode(NodeKind::kGpu, std::move(name)); }

  void AddLink(NodeId from, NodeId to, const Wire& wire);
  void AddCable(NodeId one, NodeId other, const Wire& wire);

  void SetGpusForward(bool forward) { topology_.gpus_forward_ = forward; }

  void SetTorus(TorusShape shape) { topology_.torus_ = std::move(shape); }

  void SetDragonfly(DragonflyShape shape) { topology_.dragonfly_ = shape; }

  [[nodiscard]] std::uint32_t num_nodes() const { return topology_.num_nodes(); }

  [[nodiscard]] std::uint32_t num_gpus() const { return topology_.num_gpus(); }

  /// Fails with one sentence that names the link or node: no GPU, an unknown node, a link from a
  /// node to itself, a bandwidth that is not above zero, a negative latency, two links of one kind
  /// between the same nodes, GPUs that no links join.
  [[nodiscard]] Result<Topology> Build() &&;

 private:
  Topology topology_;
};

/// The part of a flow that crosses a link: 1, less if the flow is split over equal paths, more if
/// it crosses repeatedly.
struct LinkUse {
  LinkId link = 0;
  double share = 1;
};

/// The demand of a flow in bandwidth sharing. A class of `multiplicity` flows over the same links
/// counts as that many; rates are always those of one of them.
struct FlowDemand {
  std::span<const LinkUse> uses{};
  double weight = 1;  // shares at a bottleneck are in proportion to it
  double cap_bytes_per_second = std::numeric_limits<double>::infinity();  // NIC, protocol
  double multiplicity = 1;
};

}  // namespace orrery::network
