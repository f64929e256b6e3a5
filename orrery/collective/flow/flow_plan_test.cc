#include "orrery/collective/flow/flow_plan.h"

#include <cstdint>
#include <map>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/collective/algorithm.h"
#include "orrery/network/presets.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

namespace orrery::collective {
namespace {

using network::Placement;
using network::Topology;

Topology Servers(std::uint32_t count, std::uint32_t gpus) {
  const network::Wire wire{.bandwidth = {1e9}};
  return network::MakeSingleSwitch(
             {.num_servers = count,
              .server = {.num_gpus = gpus,
                         .num_nics = gpus,
                         .nvlink = {.bandwidth = {1e9}, .kind = network::LinkKind::kNvlink},
                         .pcie = {.bandwidth = {1e9}, .kind = network::LinkKind::kPcie},
                         .port = wire}})
      .value();
}

Placement AllOf(const Topology& topology) {
  return Placement::Strided(topology, 0, topology.num_gpus()).value();
}

/// Returns the bytes that each GPU sends over the whole plan.
std::map<network::GpuId, double> SentBytes(const FlowPlan& plan) {
  std::map<network::GpuId, double> sent;
  for (const FlowPlan::Stage& stage : plan.stages()) {
    for (std::uint32_t flow = stage.first_flow; flow < stage.end_flow; ++flow) {
      for (const FlowEdge& edge : plan.edges(flow)) {
        sent[edge.from] += edge.share * stage.bytes;
      }
    }
  }
  return sent;
}

// Two servers of four: four rings of a quarter; each rank sends 2 · 7/8 of the buffer.
TEST(FlowPlanTest, ARingForEveryGpuOfAnIsland) {
  const Topology topology = Servers(2, 4);
  const FlowPlan plan = PlanFlows({.size = {800}}, Algorithm::kRing, AllOf(topology)).value();
  ASSERT_EQ(plan.stages().size(), 1u);
  EXPECT_EQ(plan.num_flows(), 4u);
  EXPECT_EQ(plan.stages()[0].hops, (Hops{.intra = 12, .inter = 2}));
  for (const auto& [gpu, bytes] : SentBytes(plan)) {
    EXPECT_DOUBLE_EQ(bytes, 1400) << gpu;
  }
  // Ring 1 enters at GPUs 1 and 5 and leaves at 0 and 4.
  EXPECT_EQ(plan.edges(1)[3].from, 0u);
  EXPECT_EQ(plan.edges(1)[3].to, 5u);
}

TEST(FlowPlanTest, ABroadcastNeverSendsToTheRoot) {
  const Topology topology = Servers(2, 4);
  const Placement placement = Placement::Create(topology, {5, 0, 1, 4}).value();
  const FlowPlan plan =
      PlanFlows({.kind = CollectiveKind::kBroadcast, .size = {800}}, Algorithm::kRing, placement)
          .value();
  for (std::uint32_t flow = 0; flow < plan.num_flows(); ++flow) {
    EXPECT_EQ(plan.edges(flow).size(), 3u);
    EXPECT_EQ(plan.edges(flow).front().from, 5u);
    for (const FlowEdge& edge : plan.edges(flow)) {
      EXPECT_NE(edge.to, 5u);
    }
  }
}

// PAT on five ranks: 1, 2 and 1 parts of five.
TEST(FlowPlanTest, PatDoublesDistances) {
  const Topology topology = Servers(5, 1);
  const FlowPlan plan = PlanFlows({.kind = CollectiveKind::kAllGather, .size = {500}},
                                  Algorithm::kPat, AllOf(topology))
                            .value();
  ASSERT_EQ(plan.stages().size(), 3u);
  EXPECT_EQ(plan.stages()[0].bytes, 100);
  EXPECT_EQ(plan.stages()[1].bytes, 200);
  EXPECT_EQ(plan.stages()[2].bytes, 100);
  EXPECT_EQ(plan.edges(10)[0].to, 4u);
}

TEST(FlowPlanTest, OneRankHasNoFlows) {
  const Topology topology = Servers(2, 4);
  const auto placement = Placement::Create(topology, {3}).value();
  EXPECT_EQ(PlanFlows({.size = {800}}, Algorithm::kRing, placement)->num_flows(), 0u);
}

TEST(FlowPlanTest, WhatCannotBeDoneIsSaid) {
  const Topology topology = Servers(2, 4);
  EXPECT_EQ(PlanFlows({.size = {8}}, Algorithm::kNvls, AllOf(topology)).error().message(),
            "NVLS over 2 islands needs a network that reduces; use NVLSTree");
  EXPECT_EQ(PlanFlows({.size = {8}}, Algorithm::kPat, AllOf(topology)).error().message(),
            "all_reduce by PAT has no flows: it is none of its algorithms, or the network would "
            "have to reduce");
  const auto uneven = Placement::Create(topology, {0, 1, 4}).value();
  EXPECT_EQ(PlanFlows({.size = {8}}, Algorithm::kHierarchical, uneven).error().message(),
            "Hierarchical needs as many ranks in every island");
}

}  // namespace
}  // namespace orrery::collective
