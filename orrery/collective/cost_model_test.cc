#include "orrery/collective/cost_model.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/collective/closed_form.h"
#include "orrery/collective/cluster_topology.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/topology.h"

namespace orrery::collective {
namespace {

std::vector<network::GpuId> FirstGpus(std::size_t count) {
  std::vector<network::GpuId> gpus(count);
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

CostSettings DgxA100(const char* nccl) {
  CostSettings settings{.cluster = hardware::FindCluster("DGX A100")};
  settings.nccl = ParseNcclSettings(nccl).value();
  return settings;
}

// Ring Simple on 16 GPUs of two nodes: 30 steps, two of them between nodes. A GPU moves
// 2 · 15/16 · 1 GB; eight NICs of 25 GB/s reach less than its 240 GB/s of NVLink.
TEST(CostModelTest, FlowLevelTakesTheConstantsOfTheMachine) {
  using enum Constant;
  CostSettings settings = DgxA100("NCCL_ALGO=Ring NCCL_PROTO=Simple");
  settings.constants.Set(kSimpleStart, 20);
  settings.constants.Set(kSimpleHop, 3);
  settings.constants.Set(kSimpleNetworkHop, 9);
  settings.constants.Set(kLinkShare, 0.95);
  settings.constants.Set(kNetworkShare, 0.8);
  const network::Topology topology = TopologyOf(*settings.cluster, 2).value();
  FlowNetwork network(topology);
  FlowLevelCost cost(settings, network);
  const FlowLevelTime time = cost.Time({.size = {1'000'000'000}}, FirstGpus(16)).value();
  EXPECT_NEAR(time.seconds, 20e-6 + 28 * 3e-6 + 2 * 9e-6 + 1.875 / (0.8 * 200), 1e-9);
  EXPECT_EQ(time.bottleneck, "nic0.0 → leaf0");
}

TEST(CostModelTest, ClosedFormDependsOnTheRanksAndTheirIslands) {
  const CostSettings settings = DgxA100("");
  ClosedFormCost cost(settings);
  const Request request{.size = {64 << 20}};
  for (const int stride : {1, 8}) {
    std::vector<network::GpuId> gpus = FirstGpus(8);
    for (network::GpuId& gpu : gpus) {
      gpu *= static_cast<network::GpuId>(stride);
    }
    const Fabric fabric =
        FabricOf(*settings.cluster, {.gpus = 8, .gpus_per_node = 8 / stride}).value();
    const Prediction expected =
        Predict(fabric, request, settings.nccl, *settings.tables, settings.constants).value();
    EXPECT_EQ(cost.Seconds(request, gpus).value(), expected.seconds);
  }
}

// Without the part of the buffer that is copied, both agree where latency does not matter.
TEST(CostModelTest, FlowLevelAgreesWithTheClosedForm) {
  CostSettings settings{.cluster = hardware::FindCluster("DGX H100")};
  settings.constants.Set(Constant::kOwnShare, 0);
  settings.constants.Set(Constant::kSharpness, 1);
  const network::Topology topology = TopologyOf(*settings.cluster, 4).value();
  FlowNetwork network(topology);
  for (const char* const algorithm : {"NCCL_ALGO=Ring NCCL_PROTO=Simple", "NCCL_ALGO=NVLSTree"}) {
    settings.nccl = ParseNcclSettings(algorithm).value();
    FlowLevelCost flows(settings, network);
    ClosedFormCost form(settings);
    const Request request{.size = {std::int64_t{64} << 30}};
    const double expected = form.Seconds(request, FirstGpus(32)).value();
    EXPECT_NEAR(flows.Time(request, FirstGpus(32)).value().seconds / expected, 1, 0.02)
        << algorithm;
  }
}

TEST(CostModelTest, AMissingGpuIsNamed) {
  const CostSettings settings = DgxA100("");
  const network::Topology topology = TopologyOf(*settings.cluster, 1).value();
  FlowNetwork network(topology);
  FlowLevelCost cost(settings, network);
  EXPECT_EQ(cost.Time({.size = {4096}}, FirstGpus(9)).error().message(),
            "rank 8 is on GPU 8, but there are 8");
}

}  // namespace
}  // namespace orrery::collective
