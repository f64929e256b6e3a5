#include "orrery/simulate/network/group_limits.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/units.h"
#include "orrery/collective/cost_model.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/network/group_times.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using collective::LinkLimits;
using network::GpuId;
using workload::Job;

/// Nodes of eight H100s, each with a NIC of 50 GB/s.
Job Nodes(int nodes) {
  Job job;
  job.cluster = *hardware::FindCluster("DGX H100");
  job.gpu = *hardware::FindGpu("H100");
  job.gpus = 8 * nodes;
  return job;
}

Job WithA100s(Job job, int first, int last) {
  job.other_gpus = {{.first = first, .last = last, .gpu = *hardware::FindGpu("A100-80GB")}};
  return job;
}

GroupLimits LimitsOf(const Job& job, const NetworkFaults& faults = {}) {
  return GroupLimits::Of(job, faults).value();
}

LinkLimits Of(const GroupLimits& limits, const std::vector<GpuId>& gpus) {
  return limits.Of(gpus);
}

std::string ErrorOf(const NetworkFaults& faults) {
  const auto limits = GroupLimits::Of(Nodes(2), faults);
  return limits ? "none" : limits.error().message();
}

TEST(GroupLimitsTest, WithoutFaultsNobodyIsHeldBack) {
  EXPECT_TRUE(LimitsOf(Nodes(2)).empty());
}

// Two of eight NICs are down, and what is left carries half: 6 / 8 · 0.5.
TEST(GroupLimitsTest, AFaultOfANodeCountsForGroupsThatCrossIt) {
  const GroupLimits limits =
      LimitsOf(Nodes(3), {.failed_nics = {{1, 2}, {1, 7}, {1, 2}}, .slow_nodes = {{1, 0.5}}});

  EXPECT_DOUBLE_EQ(Of(limits, {0, 8}).network_share, 0.375);
  EXPECT_EQ(Of(limits, {8, 9, 10}), LinkLimits{});  // stays inside the node
  EXPECT_EQ(Of(limits, {0, 16}), LinkLimits{});     // goes past it
  EXPECT_EQ(Of(limits, {8}), LinkLimits{});
}

// A rack of NVLink with 18 nodes of four GPUs: NICs of all nodes serve it, one of four nodes that
// the job has there has lost half.
TEST(GroupLimitsTest, AnIslandOfSeveralNodesSharesTheirNics) {
  Job job = Nodes(1);
  job.cluster.island.gpus = 16;
  job.cluster.gpus_per_node = 4;
  job.gpus = 32;
  const GroupLimits limits = LimitsOf(job, {.slow_nodes = {{1, 0.5}}});

  EXPECT_DOUBLE_EQ(Of(limits, {0, 16}).network_share, (1 + 0.5 + 1 + 1) / 4);
  EXPECT_EQ(Of(limits, {4, 8}), LinkLimits{});
}

// An A100 has 300 of an H100's 450 GB/s, and PCIe of 32 GB/s to its NIC.
TEST(GroupLimitsTest, AGroupHasTheSlowerLinksOfItsGpus) {
  const GroupLimits limits = LimitsOf(WithA100s(Nodes(2), 8, 11));

  EXPECT_EQ(Of(limits, {0, 1}), LinkLimits{});
  EXPECT_EQ(Of(limits, {12, 13}), LinkLimits{});
  const LinkLimits inside = Of(limits, {8, 12});
  EXPECT_DOUBLE_EQ(inside.link_share, 300.0 / 450);
  EXPECT_FALSE(inside.reduces_in_switch);
  EXPECT_EQ(inside.host_link, Bandwidth{});
  EXPECT_EQ(Of(limits, {0, 8}).host_link, Bandwidth{32e9});
}

TEST(GroupLimitsTest, AFasterGpuHoldsNobodyBack) {
  Job job = Nodes(2);
  job.other_gpus = {{.first = 8, .last = 15, .gpu = *hardware::FindGpu("H200")}};
  EXPECT_TRUE(LimitsOf(job).empty());
}

TEST(GroupLimitsTest, WhatDoesNotExistCannotFail) {
  EXPECT_EQ(ErrorOf({.slow_nodes = {{2, 0.5}}}),
            "there is no node 2; the job has 2 nodes of 8 GPUs, counted from 0");
  EXPECT_EQ(ErrorOf({.failed_nics = {{0, 8}}}),
            "there is no NIC 8; a node of DGX H100 has 8, counted from 0");
  NetworkFaults all;
  for (std::uint32_t nic = 0; nic < 8; ++nic) {
    all.failed_nics.push_back({1, nic});
  }
  EXPECT_EQ(ErrorOf(all), "node 1 has no NIC left, and the job needs its network");
}

/// The time of a ring over all GPUs of two nodes.
double RingSeconds(const LinkLimits& limits, std::int64_t bytes) {
  const Job job = Nodes(2);
  collective::CostSettings settings;
  settings.cluster = &job.cluster;
  settings.nccl = collective::ParseNcclSettings("NCCL_ALGO=Ring NCCL_PROTO=Simple").value();
  collective::ClosedFormCost cost(settings);
  std::vector<GpuId> gpus(16);
  std::iota(gpus.begin(), gpus.end(), 0);
  return cost.Seconds({CollectiveKind::kAllReduce, Bytes{bytes}, DataType::kFp32}, gpus, limits)
      .value();
}

// 64 GiB: latency is nothing beside the transfer. Eight NICs carry 400 GB/s and the links of a GPU
// 450, of which a library reaches less, so that the NICs are waited for once a quarter of them is
// left; half of that takes twice as long.
TEST(GroupLimitsTest, ARingWithHalfOfTheNicsTakesTwiceAsLong) {
  constexpr std::int64_t kBytes = std::int64_t{64} << 30;
  const double quarter = RingSeconds({.network_share = 0.25}, kBytes);
  const double eighth = RingSeconds({.network_share = 0.125}, kBytes);
  EXPECT_NEAR(eighth / quarter, 2, 1e-3);
  EXPECT_GT(quarter, RingSeconds({}, kBytes));
}

// Eight ranks of a node behind links of 5 GB/s enter the network with 40 GB/s, a tenth of 400.
TEST(GroupLimitsTest, TheWayToTheNicLimitsTheNetwork) {
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  EXPECT_DOUBLE_EQ(RingSeconds({.host_link = {5e9}}, kBytes),
                   RingSeconds({.network_share = 0.1}, kBytes));
}

TEST(GroupLimitsTest, TimesOfGroupsThatAreNotLimitedStay) {
  const Job job = Nodes(3);
  const auto healthy = ClusterTimes::Of(job).value();
  const auto faulty = ClusterTimes::Of(job, LimitsOf(job, {.slow_nodes = {{1, 0.25}}})).value();
  const workload::Communications::Row row = {
      .role = 0, .kind = CollectiveKind::kAllReduce, .bytes = 1 << 28, .element = DataType::kBf16};
  const auto times = [&row](ClusterTimes& of, const std::vector<GpuId>& gpus) {
    return of.DurationPs(row, gpus).value();
  };

  EXPECT_EQ(times(*healthy, {0, 16}), times(*faulty, {0, 16}));
  EXPECT_EQ(times(*healthy, {8, 9}), times(*faulty, {8, 9}));
  EXPECT_GT(times(*faulty, {0, 8}), 3 * times(*healthy, {0, 8}));
}

}  // namespace
}  // namespace orrery::simulate
