#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/request.h"
#include "orrery/network/placement.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

/// What one GPU sends to another, as a multiple of the bytes of the flow it belongs to.
struct FlowEdge {
  network::GpuId from = 0;
  network::GpuId to = 0;
  double share = 1;
};

/// Hops that wait for each other: what latency costs.
struct Hops {
  double intra = 0;  // inside islands
  double inter = 0;  // between them

  bool operator==(const Hops&) const = default;
};

/// A collective as flows: stages that follow each other, each with flows of as many bytes that
/// start together. The edges of one flow move in step, as the edges of a ring do: at the pace of
/// the slowest. So a ring of a thousand GPUs with all its steps is one flow, not a million; what is
/// lost is that between steps it could meet other traffic in another candidate.
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

/// How the pairs of an all-to-all follow each other.
enum class AllToAllOrder {
  kAtOnce,    // all pairs share links from the start
  kInRounds,  // in round i every rank sends to the one i further on; rounds wait for each other
};

struct FlowPlanOptions {
  AllToAllOrder all_to_all = AllToAllOrder::kAtOnce;
};

/// Returns the flows of a collective. There are as many rings or trees as the smallest island has
/// ranks, each with a share of the bytes and each entering islands at another GPU, so that all NICs
/// are used. Rank 0 is the root of broadcast and reduce; in send/recv every rank sends to the next;
/// a barrier is an all-reduce of eight bytes. Islands follow each other in the order of their first
/// rank, GPUs inside in the order of their numbers: NCCL finds its own candidate through a node.
///
/// Fails when the algorithm cannot do the collective on this placement, in one sentence.
[[nodiscard]] Result<FlowPlan> PlanFlows(const Request& request, Algorithm algorithm,
                                         const network::Placement& placement,
                                         const FlowPlanOptions& options = {});

}  // namespace orrery::collective
