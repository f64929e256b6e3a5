#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/request.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

/// Traffic from one GPU to another, as a multiple of the bytes of its flow.
struct FlowEdge {
  network::GpuId from = 0;
  network::GpuId to = 0;
  double share = 1;
};

/// Sequential hops, which cost latency.
struct Hops {
  double intra = 0;  // inside islands
  double inter = 0;  // between them

  bool operator==(const Hops&) const = default;
};

/// A collective as flows: sequential stages of flows with equal bytes that start together. The
/// edges of one flow, such as those of a ring, move at the rate of the slowest. So a ring of a
/// thousand GPUs with all its steps is one flow, not a million; interaction with other traffic
/// between steps is not modelled.
class FlowPlan {
 public:
  struct Stage {
    Hops hops{};
    double bytes = 0;  // of every flow
    std::uint32_t first_flow = 0;
    std::uint32_t end_flow = 0;
  };

  void BeginStage(const Hops& hops, double bytes);
  void BeginFlow();
  void AddEdge(network::GpuId from, network::GpuId to, double share = 1);

  [[nodiscard]] std::span<const Stage> stages() const { return stages_; }

  [[nodiscard]] std::size_t num_flows() const { return first_edge_of_flow_.size(); }

  [[nodiscard]] std::span<const FlowEdge> edges(std::uint32_t flow) const;

 private:
  std::vector<Stage> stages_;
  std::vector<std::uint32_t> first_edge_of_flow_;
  std::vector<FlowEdge> edges_;
};

enum class AllToAllOrder {
  kAtOnce,    // all pairs share links from the start
  kInRounds,  // in round i every rank r sends to r + i; rounds are sequential
};

struct FlowPlanOptions {
  AllToAllOrder all_to_all = AllToAllOrder::kAtOnce;
};

/// Returns the flows of a collective. There are as many rings or trees as the smallest island has
/// ranks, each with a share of the bytes and each entering islands at another GPU, so that all NICs
/// are used. Rank 0 is the root of broadcast and reduce; in send/recv every rank sends to the next;
/// a barrier is an all-reduce of eight bytes. Islands follow each other in the order of their first
/// rank, GPUs inside in the order of their numbers; NCCL finds its own order within a node.
///
/// Fails if the algorithm does not support the collective on this placement.
[[nodiscard]] Result<FlowPlan> PlanFlows(const Request& request, Algorithm algorithm,
                                         const network::Placement& placement,
                                         const FlowPlanOptions& options = {});

/// The parent of a node in the binary tree of `count` nodes in which node 0 is the root, odd nodes
/// are leaves and a node with lowest set bit b is between its children at distance b / 2;
/// nothing for the root.
[[nodiscard]] std::optional<std::uint32_t> TreeParent(std::uint32_t node, std::uint32_t count);

/// The same in the second tree, in which leaves of the first are inner nodes: the mirror image for
/// even counts, shifted by one for odd ones.
[[nodiscard]] std::optional<std::uint32_t> SecondTreeParent(std::uint32_t node,
                                                            std::uint32_t count);

}  // namespace orrery::collective
