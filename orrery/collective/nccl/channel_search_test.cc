#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/collective/nccl/tuner_tables.h"

namespace orrery::collective {
namespace {

ChannelGraph Graph(int channels, double speed) {
  return {.channels = channels, .intra_speed = speed, .inter_speed = speed};
}

ChannelGraph OneNode(GpuGeneration generation, double gpu_link) {
  return SearchRings({.generation = generation, .ranks_per_node = 8, .gpu_link = gpu_link});
}

// Outcomes that logs show, each found by the rule: 6 at 40, 6 at 60, 4 at 40 and 3 at 40, split.
TEST(ChannelSearchTest, OneNodeAsInLogs) {
  EXPECT_EQ(OneNode(GpuGeneration::kAmpere, 240), Graph(12, 20));
  EXPECT_EQ(OneNode(GpuGeneration::kHopper, 370.8), Graph(12, 30));
  EXPECT_EQ(OneNode(GpuGeneration::kHopper, 164.8), Graph(8, 20));  // H800
  EXPECT_EQ(OneNode(GpuGeneration::kBlackwell, 721.8), Graph(8, 90));
  EXPECT_EQ(OneNode(GpuGeneration::kVolta, 120), Graph(6, 20));
}

// 24 GB/s of PCIe: one channel of 20, 18 or 15, or two of 12.
TEST(ChannelSearchTest, PcieTakesTheLargestTotal) {
  EXPECT_EQ(OneNode(GpuGeneration::kAmpere, 24), Graph(2, 12));
}

TEST(ChannelSearchTest, SeveralNodesAsInLogs) {
  const SearchSpace a100{.generation = GpuGeneration::kAmpere,
                         .nodes = 2,
                         .ranks_per_node = 8,
                         .gpu_link = 240,
                         .nic = 24,
                         .nics = 8};
  EXPECT_EQ(SearchRings(a100), Graph(8, 24));

  SearchSpace h100{.generation = GpuGeneration::kHopper,
                   .nodes = 2,
                   .ranks_per_node = 8,
                   .gpu_link = 370.8,
                   .nic = 48,
                   .nics = 8};
  EXPECT_EQ(SearchRings(h100), Graph(12, 30));
  h100.nodes = 3;
  EXPECT_EQ(SearchRings(h100), Graph(8, 45));
  EXPECT_EQ(DoubledChannels(SearchRings(h100), GpuGeneration::kHopper, 3), 16);
}

TEST(ChannelSearchTest, ASlowNicLimitsRings) {
  EXPECT_EQ(SearchRings({.generation = GpuGeneration::kAmpere,
                         .nodes = 4,
                         .ranks_per_node = 8,
                         .gpu_link = 240,
                         .nic = 12,
                         .nics = 4}),
            Graph(4, 12));
  EXPECT_EQ(SearchRings({.generation = GpuGeneration::kAmpere,
                         .nodes = 2,
                         .ranks_per_node = 1,
                         .gpu_link = 0,
                         .nic = 0.1,
                         .nics = 1}),
            Graph(1, 0.1));
}

// 8 at 40 is in a log; 4 GPUs would have 74 each, and no speed above 60 is tried.
TEST(ChannelSearchTest, SwitchReductionHasAChannelForEachRank) {
  SearchSpace space{.generation = GpuGeneration::kHopper, .ranks_per_node = 8, .gpu_link = 370.8};
  EXPECT_EQ(SearchNvls(space), Graph(8, 40));
  space.ranks_per_node = 4;
  EXPECT_EQ(SearchNvls(space), Graph(4, 60));
  space = {.generation = GpuGeneration::kHopper,
           .nodes = 2,
           .ranks_per_node = 8,
           .gpu_link = 370.8,
           .nic = 25,
           .nics = 4};
  EXPECT_EQ(SearchNvls(space), (ChannelGraph{.channels = 4, .intra_speed = 60, .inter_speed = 24}));
}

TEST(ChannelSearchTest, ChannelsAreDoubled) {
  EXPECT_EQ(DoubledChannels(Graph(12, 20), GpuGeneration::kAmpere, 1), 24);
  EXPECT_EQ(DoubledChannels(Graph(4, 48), GpuGeneration::kHopper, 2), 16);
  EXPECT_EQ(DoubledChannels(Graph(40, 12), GpuGeneration::kAmpere, 2), 64);
}

RC_GTEST_PROP(ChannelSearchTest, RingsFitTheLinksAndUseMostOfThem, ()) {
  const auto generation = static_cast<GpuGeneration>(*rc::gen::inRange(0, 5));
  const double link = *rc::gen::inRange(20, 1000);

  const ChannelGraph graph = OneNode(generation, link);

  RC_ASSERT(graph.intra_total() <= link);
  RC_ASSERT(graph.intra_total() >= 0.5 * link);
}

}  // namespace
}  // namespace orrery::collective
