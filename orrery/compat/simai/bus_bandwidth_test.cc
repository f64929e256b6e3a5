#include "orrery/compat/simai/bus_bandwidth.h"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"

namespace orrery::compat::simai {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

// The example of SimAI: 9,216 GPUs, 384 data-parallel ranks.
constexpr Machine kMachine{.nvlink_gib_per_second = 360, .nic_gib_per_second = 48.5};
constexpr Plan kPlan{.gpus = 9216, .tensor = 2, .expert = 16, .pipeline = 12};

double Microseconds(CollectiveKind kind, Group group, std::int64_t size) {
  const auto time = CollectiveTime({kind, group, {size}}, kPlan, kMachine);
  return static_cast<double>(time.value().nanoseconds) / 1e3;
}

// 48 MiB on one node: ratio 0.6 / 0.81 of 360 GiB/s, half of the bytes.
TEST(SimaiTest, TensorAllGather) {
  EXPECT_NEAR(Microseconds(CollectiveKind::kAllGather, Group::kTensor, 50'331'648), 87.89, 0.005);
}

// Four nodes of four GPUs with four NICs: 48.5 * 15 / 12 GiB/s; 96 MiB lies halfway between
// 0.83 and 0.90, over 0.95.
TEST(SimaiTest, ExpertAllToAll) {
  EXPECT_NEAR(Microseconds(CollectiveKind::kAllToAll, Group::kExpert, 100'663'296), 1'592.20,
              0.005);
}

// Four NICs of 48.5 GiB/s for the four groups of a server; 383 / 384 of the bytes.
TEST(SimaiTest, DataAllGather) {
  EXPECT_NEAR(Microseconds(CollectiveKind::kAllGather, Group::kData, 2'807'758'848), 13'443.91,
              0.005);
}

// One NIC for the group, 24 ranks.
TEST(SimaiTest, ExpertDataAllGather) {
  EXPECT_NEAR(Microseconds(CollectiveKind::kAllGather, Group::kExpertData, 19'327'352'832),
              355'670.10, 0.005);
}

// From SimAI's own output of that workload, in whole microseconds: the embedding's all-reduce of
// 48 MiB (360 GiB/s, no table), and the scatters of gradients, twice the bytes of the gathers.
TEST(SimaiTest, OtherCallsOfTheExample) {
  EXPECT_NEAR(Microseconds(CollectiveKind::kAllReduce, Group::kTensor, 50'331'648), 130, 0.5);
  EXPECT_NEAR(Microseconds(CollectiveKind::kReduceScatter, Group::kData, 5'615'517'696), 26'888,
              0.5);
  EXPECT_NEAR(Microseconds(CollectiveKind::kReduceScatter, Group::kExpertData, 38'654'705'664),
              711'340, 0.5);
}

TEST(SimaiTest, SmallCallsDependOnRanksAlone) {
  EXPECT_EQ(Microseconds(CollectiveKind::kAllGather, Group::kTensor, 2), 10);
  EXPECT_EQ(Microseconds(CollectiveKind::kAllReduce, Group::kTensor, kMebibyte - 1), 10);
  EXPECT_EQ(Microseconds(CollectiveKind::kAllToAll, Group::kExpert, 4096), 66);
  EXPECT_EQ(Microseconds(CollectiveKind::kAllReduce, Group::kData, 4096),
            0);  // 384 ranks are not listed
  EXPECT_EQ(Microseconds(CollectiveKind::kAllReduce, Group::kTensor, 0), 0);
}

TEST(SimaiTest, WhereGroupsLie) {
  const auto spread = [](Group group, const Plan& plan) {
    const Spread found = SpreadOf(group, plan, kMachine).value();
    return std::array{found.ranks, found.gpus_per_node, found.nodes, found.nics_per_node};
  };
  const Plan wide{.gpus = 512, .tensor = 16, .expert = 4};
  const Plan narrow{.gpus = 512, .tensor = 2, .expert = 4};
  EXPECT_EQ(spread(Group::kTensor, narrow), (std::array{2, 2, 1, 8}));
  EXPECT_EQ(spread(Group::kTensor, wide), (std::array{16, 8, 2, 8}));
  EXPECT_EQ(spread(Group::kExpert, narrow), (std::array{4, 4, 1, 8}));
  EXPECT_EQ(spread(Group::kExpert, kPlan), (std::array{16, 4, 4, 4}));
  EXPECT_EQ(spread(Group::kExpert, wide), (std::array{4, 1, 8, 1}));
  EXPECT_EQ(spread(Group::kData, narrow), (std::array{256, 4, 256, 4}));
  EXPECT_EQ(spread(Group::kData, wide), (std::array{32, 1, 32, 1}));
  EXPECT_EQ(spread(Group::kExpertData, narrow), (std::array{64, 1, 64, 1}));
  EXPECT_EQ(spread(Group::kExpertData, wide), (std::array{8, 1, 8, 1}));
}

TEST(SimaiTest, BusBandwidthIsThatOfTheBottleneck) {
  const auto bus = [](const Spread& spread) {
    return BusBandwidthOf(CollectiveKind::kAllGather, spread, kMachine);
  };
  EXPECT_EQ(bus({.ranks = 8, .gpus_per_node = 8, .nodes = 1, .nics_per_node = 8}).gib_per_second,
            360);
  EXPECT_EQ(bus({.ranks = 4, .gpus_per_node = 1, .nodes = 4, .nics_per_node = 1}).gib_per_second,
            48.5);
  EXPECT_EQ(bus({.ranks = 8, .gpus_per_node = 4, .nodes = 2, .nics_per_node = 4}).gib_per_second,
            194);
  // Eight NICs carry 388, more than NVLink: crossing them, two GPUs reach 720, eight 411.
  const Spread eight{.ranks = 16, .gpus_per_node = 8, .nodes = 2, .nics_per_node = 8};
  EXPECT_EQ(bus(eight).gib_per_second, 388);
  EXPECT_FALSE(bus(eight).nvlink_limits);
  const Machine fast{.nvlink_gib_per_second = 210, .nic_gib_per_second = 48.5};
  EXPECT_EQ(BusBandwidthOf(CollectiveKind::kAllGather, eight, fast).gib_per_second, 240);
  EXPECT_TRUE(BusBandwidthOf(CollectiveKind::kAllGather, eight, fast).nvlink_limits);
}

TEST(SimaiTest, InvalidPlansAreRejected) {
  const auto error = [](Group group, const Plan& plan, const Machine& machine) {
    return SpreadOf(group, plan, machine).error().message();
  };
  EXPECT_EQ(error(Group::kData, {.gpus = 8, .tensor = 16}, kMachine),
            "8 GPUs are too few for tensor 16 times pipeline 1");
  EXPECT_EQ(error(Group::kExpertData, {.gpus = 8, .expert = 16}, kMachine),
            "8 data-parallel ranks are too few for 16 groups of experts");
  EXPECT_EQ(error(Group::kData, {.gpus = 64, .tensor = 0}, kMachine),
            "every number of a plan and a server must be above 0");
  EXPECT_EQ(error(Group::kData, {.gpus = 64, .tensor = 8},
                  {.nvlink_gib_per_second = 360, .nic_gib_per_second = 48, .nics_per_server = 4}),
            "4 NICs a server leave none for each group");
  EXPECT_EQ(error(Group::kTensor, kPlan, {.nvlink_gib_per_second = 360}),
            "bandwidths must be above 0, not 360 (NVLink) and 0 (NIC)");
}

// More bandwidth is never slower while the bottleneck, and with it the table, stays the same.
RC_GTEST_PROP(SimaiProperty, FasterNicsAreNeverSlower, ()) {
  const auto kind = *rc::gen::element(CollectiveKind::kAllReduce, CollectiveKind::kAllGather,
                                      CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll);
  const auto group = *rc::gen::element(Group::kExpert, Group::kData, Group::kExpertData);
  const Collective collective{
      kind, group, {*rc::gen::inRange<std::int64_t>(kMebibyte, kMebibyte << 14)}};
  Machine slow = kMachine;
  slow.nic_gib_per_second = *rc::gen::inRange(1, 400);
  Machine fast = slow;
  fast.nic_gib_per_second += *rc::gen::inRange(1, 100);
  RC_ASSERT(CollectiveTime(collective, kPlan, fast).value() <=
            CollectiveTime(collective, kPlan, slow).value());
}

double RatioOf(RatioTable table, int nodes, std::int64_t size) {
  return EfficiencyRatio(table, nodes, {size}).value();
}

TEST(SimaiRatiosTest, RowsAreRelativeToTheLast) {
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, 16 * kMebibyte), 0.45 / 0.81);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 128, 8192 * kMebibyte), 0.7648 / 0.919175);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kAllToAll, kOneGpuEachNode, 32 * kMebibyte), 0.92 / 0.96);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNvlink, 8, 16384 * kMebibyte), 1);
}

// Halfway between 32 and 64 MiB: (0.55 + 0.65) / 2.
TEST(SimaiRatiosTest, LinearBetweenRowsAndConstantBelowTheFirst) {
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, 48 * kMebibyte), 0.60 / 0.81);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, kMebibyte), 0.45 / 0.81);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 1, 0), 1);
}

TEST(SimaiRatiosTest, NodesWithoutColumnCountAsSixteenAndEmptyColumnsAsOne) {
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNic, 3, 16 * kMebibyte), 0.05 / 0.96);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNvlink, 256, 16 * kMebibyte), 0.08 / 0.88);
  EXPECT_DOUBLE_EQ(RatioOf(RatioTable::kNvlink, 32, 16 * kMebibyte), 1);
}

TEST(SimaiRatiosTest, SizesAboveTheTableAreRejected) {
  EXPECT_EQ(EfficiencyRatio(RatioTable::kNic, 1, {16384 * kMebibyte + 1}).error().message(),
            "SimAI has no efficiency above 16 GiB: 17179869185 bytes");
}

}  // namespace
}  // namespace orrery::compat::simai
