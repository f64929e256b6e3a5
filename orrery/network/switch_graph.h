/// Paths that follow from the shape of a topology. All return false, with `path` unchanged, when a
/// link on the path is down.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/network/topology.h"

namespace orrery::network {

/// The connection from a GPU to a switch or back: no link if the GPU forwards itself, one link, or
/// two with a NIC between.
struct Attachment {
  std::uint32_t place = 0;  // of the switch in the graph
  std::uint32_t num_links = 0;
  std::array<LinkId, 2> links{};  // in the order of travel
};

/// The nodes of a topology on paths, and distances between them, without links that are down. A
/// node with one neighbour leads nowhere else, so NICs are part of attachments; so are GPUs, unless
/// they forward traffic. 16,384 GPUs on rails are a graph of a thousand switches.
///
/// Distances to a switch are searched when first needed and kept: O(links between
/// switches) of time and two bytes for each switch connected with it.
class SwitchGraph {
 public:
  struct Edge {
    std::uint32_t place = 0;
    LinkId link = 0;
  };

  static constexpr std::uint16_t kUnreachable = 0xffff;

  SwitchGraph(const Topology& topology, std::span<const std::uint8_t> is_down);

  [[nodiscard]] std::span<const Attachment> uplinks(GpuId gpu) const { return up_.Row(gpu); }

  [[nodiscard]] std::span<const Attachment> downlinks(GpuId gpu) const { return down_.Row(gpu); }

  [[nodiscard]] std::span<const Edge> edges(std::uint32_t place) const { return out_.Row(place); }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }

  /// Distances to one switch; kUnreachable for switches of other parts.
  class Distances {
   public:
    [[nodiscard]] std::uint16_t From(std::uint32_t place) const {
      return place - first_ < links_.size() ? links_[place - first_] : kUnreachable;
    }

   private:
    friend class SwitchGraph;

    std::uint32_t first_ = 0;  // of the switches connected with the end
    std::vector<std::uint16_t> links_;
  };

  /// The answer stays where it is as long as the graph.
  [[nodiscard]] const Distances& DistancesTo(std::uint32_t place);

 private:
  template <typename T>
  class Rows {
   public:
    void Append(const T& value) { values_.push_back(value); }

    void EndRow() { begin_.push_back(static_cast<std::uint32_t>(values_.size())); }

    std::span<const T> Row(std::uint32_t key) const {
      return {values_.data() + begin_[key], begin_[key + 1] - begin_[key]};
    }

   private:
    std::vector<std::uint32_t> begin_{0};
    std::vector<T> values_;
  };

  // The links of a node in one direction, and the end of a link that is away from the node.
  struct Direction {
    std::span<const LinkId> (Topology::*links)(NodeId) const;
    NodeId Link::* far_end;
  };

  static constexpr Direction kForward{&Topology::out_links, &Link::to};
  static constexpr Direction kBackward{&Topology::in_links, &Link::from};

  void ChooseSwitches(const Topology& topology);
  void NumberSwitches(const Topology& topology);
  void AddEdges(const Topology& topology, const Direction& direction, Rows<Edge>& edges);
  void AddAttachments(const Topology& topology, const Direction& direction,
                      Rows<Attachment>& attachments);
  void AddPathsOf(const Topology& topology, NodeId gpu, const Direction& direction,
                  Rows<Attachment>& attachments);

  bool IsUp(LinkId link) const { return is_down_[link] == 0; }

  std::span<const std::uint8_t> is_down_;
  std::vector<NodeId> nodes_;            // by place; connected nodes have adjacent places
  std::vector<std::uint32_t> place_;     // by node; kNoPlace for others
  std::vector<std::uint32_t> part_end_;  // by place: the places of its part are [begin, end)
  std::vector<std::uint32_t> part_begin_;
  Rows<Edge> out_;
  Rows<Edge> in_;
  Rows<Attachment> up_;
  Rows<Attachment> down_;
  std::vector<Distances> distances_;  // by place of the end; empty until needed
  std::vector<std::uint32_t> queue_;
};

/// Along the first side of the torus, then the second, …; the shorter direction, upwards when both
/// are equal, the other direction when a link of the first is down.
[[nodiscard]] bool AppendDimensionOrder(const Topology& topology,
                                        std::span<const std::uint8_t> is_down, GpuId from, GpuId to,
                                        std::vector<LinkId>& path);

/// At most one local, one global and one local cable; with `over_group` minimal to that group
/// first.
[[nodiscard]] bool AppendDragonfly(const Topology& topology, std::span<const std::uint8_t> is_down,
                                   GpuId from, GpuId to, std::optional<std::uint32_t> over_group,
                                   std::vector<LinkId>& path);

}  // namespace orrery::network
