#include "orrery/collective/closed_form.h"

#include <cmath>
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/nccl_settings.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

Fabric FabricOfGpus(std::string_view cluster, int gpus) {
  return *FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus});
}

Request AllReduce(std::int64_t bytes) {
  return {CollectiveKind::kAllReduce, Bytes{bytes}, DataType::kFp32};
}

double Seconds(const Fabric& fabric, const Request& request, const AlgorithmAndProtocol& candidate,
               const MachineConstants& constants) {
  return ClosedFormSeconds(fabric, request, candidate, NewestTunerTables(), constants);
}

constexpr AlgorithmAndProtocol kRingSimple{Algorithm::kRing, Protocol::kSimple};
constexpr AlgorithmAndProtocol kRingLl{Algorithm::kRing, Protocol::kLl};

TEST(ClosedForm, ARingOfLatencyAndTransferByHand) {
  // Eight A100 of a node, NCCL's link 240 GB/s. Sharpness 1 adds: 20 µs + 14 hops of 2 µs, and
  // 14/8 of the buffer over 120 GB/s (half of the link): 100 MB take 1,458.33 µs.
  MachineConstants constants = DefaultConstants();
  constants.Set(Constant::kSimpleStart, 20);
  constants.Set(Constant::kSimpleHop, 2);
  constants.Set(Constant::kLinkShare, 0.5);
  constants.Set(Constant::kOwnShare, 0);
  constants.Set(Constant::kSharpness, 1);
  const Fabric fabric = FabricOfGpus("dgx a100", 8);
  EXPECT_NEAR(Seconds(fabric, AllReduce(100 * kMegabyte), kRingSimple, constants) * 1e6,
              20 + 28 + 1458.333, 0.01);
  // The own eighth at the cost of a travelling one: 12.5 MB more over 120 GB/s.
  constants.Set(Constant::kOwnShare, 1);
  EXPECT_NEAR(Seconds(fabric, AllReduce(100 * kMegabyte), kRingSimple, constants) * 1e6,
              20 + 28 + 1458.333 + 104.167, 0.01);
  // Sharpness 2 is the hypotenuse.
  constants.Set(Constant::kOwnShare, 0);
  constants.Set(Constant::kSharpness, 2);
  EXPECT_NEAR(Seconds(fabric, AllReduce(100 * kMegabyte), kRingSimple, constants) * 1e6,
              std::hypot(48, 1458.333), 0.01);
}

TEST(ClosedForm, ANetworkOfFewNicsIsTheBottleneck) {
  // Two nodes with 8 NICs of 25 GB/s: 200 GB/s times 0.6 are 120, less than the links' 240·0.97.
  MachineConstants constants = DefaultConstants();
  constants.Set(Constant::kNetworkShare, 0.6);
  const Fabric fabric = FabricOfGpus("azure nd a100 v4", 16);
  const Result<NcclSettings> ring = ParseNcclSettings("NCCL_ALGO=Ring,NCCL_PROTO=Simple");
  const Result<Prediction> prediction =
      Predict(fabric, AllReduce(10'000 * kMegabyte), *ring, NewestTunerTables(), constants);
  ASSERT_TRUE(prediction.has_value());
  EXPECT_EQ(prediction->bottleneck, Bottleneck::kNetwork);
  EXPECT_NEAR(prediction->bus_bandwidth / 1e9, 120, 6);
  EXPECT_LT(prediction->bus_bandwidth / 1e9, 120);
}

TEST(ClosedForm, SmallMessagesAreLatency) {
  MachineConstants constants = DefaultConstants();
  constants.Set(Constant::kStart, 5);
  constants.Set(Constant::kLlHop, 1);
  const Fabric fabric = FabricOfGpus("dgx a100", 8);
  EXPECT_NEAR(Seconds(fabric, AllReduce(8), kRingLl, constants) * 1e6, 5 + 14, 0.05);
}

TEST(ClosedForm, OneGpuHasNothingToWaitFor) {
  const Fabric fabric = FabricOfGpus("dgx a100", 1);
  EXPECT_DOUBLE_EQ(Seconds(fabric, AllReduce(kMegabyte), kRingSimple, DefaultConstants()) * 1e6,
                   DefaultConstants()[Constant::kStart]);
}

TEST(ClosedForm, ReductionInTheSwitchMovesTheBufferOnce) {
  // Eight H100: 9/8 of 8 GB over NCCL's 370.8 GB/s times 0.8; the start is small against it.
  MachineConstants constants = DefaultConstants();
  constants.Set(Constant::kNvlsShare, 0.8);
  const Fabric fabric = FabricOfGpus("dgx h100", 8);
  const double transfer = 9.0 / 8 * 8000 * kMegabyte / (370.8e9 * 0.8);
  const double seconds = Seconds(fabric, AllReduce(8000 * kMegabyte),
                                 {Algorithm::kNvls, Protocol::kSimple}, constants);
  EXPECT_GT(seconds, transfer);
  EXPECT_NEAR(seconds, transfer, 0.02 * transfer);
}

}  // namespace
}  // namespace orrery::collective
