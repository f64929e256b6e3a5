#include "orrery/collective/floor.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/monotone_times.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

double FloorOf(const char* cluster, int gpus, CollectiveKind kind, std::int64_t bytes) {
  return FloorSeconds(FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus}).value(),
                      {kind, {bytes}});
}

constexpr std::int64_t kGigabyte = 1'000'000'000;

TEST(CollectiveFloor, IsWhatLinksAndNicsCarryAtLeast) {
  // Eight A100: 14/8 of the buffer over 300 GB/s. Eight H100 reduce in the switch: 9/8 over 450.
  EXPECT_NEAR(FloorOf("dgx a100", 8, CollectiveKind::kAllReduce, kGigabyte), 1.75 / 300, 1e-12);
  EXPECT_NEAR(FloorOf("dgx h100", 8, CollectiveKind::kAllReduce, kGigabyte), 1.125 / 450, 1e-12);
  EXPECT_NEAR(FloorOf("dgx h100", 8, CollectiveKind::kAllGather, kGigabyte), 0.875 / 450, 1e-12);
  // Four nodes of eight NICs of 50 GB/s: 2 · 3/4 of the buffer; of an all-to-all 3/4 of each GPU's.
  EXPECT_NEAR(FloorOf("dgx h100", 32, CollectiveKind::kAllReduce, kGigabyte), 1.5 / 400, 1e-12);
  EXPECT_NEAR(FloorOf("dgx h100", 32, CollectiveKind::kAllToAll, kGigabyte), 0.75 / 50, 1e-12);
}

TEST(CollectiveFloor, NoPredictionOfAnyMachineIsBelowIt) {
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    for (const int nodes : {1, 2, 3, 5, 16, 100}) {
      const int gpus = nodes * cluster.island.gpus;
      const Result<Fabric> fabric =
          FabricOf(cluster, {.gpus = gpus, .gpus_per_node = cluster.island.gpus});
      if (!fabric || gpus < 2) {
        continue;
      }
      MonotoneTimes times(
          MachineModels::Shipped().Find({.cluster = &cluster, .gpus = gpus, .nodes = nodes}).forms);
      for (const CollectiveKind kind :
           {CollectiveKind::kAllReduce, CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
            CollectiveKind::kAllToAll, CollectiveKind::kBroadcast, CollectiveKind::kReduce,
            CollectiveKind::kSendRecv}) {
        for (std::int64_t bytes = 1 << 10; bytes <= std::int64_t{1} << 35; bytes *= 3) {
          EXPECT_GE(times.Seconds(*fabric, {kind, {bytes}}).value(),
                    FloorSeconds(*fabric, {kind, {bytes}}))
              << cluster.name << " " << gpus << " " << CollectiveKindName(kind) << " " << bytes;
        }
      }
    }
  }
}

// A better connected group has no higher floor, and more of anything no lower one.
TEST(CollectiveFloor, GrowsWithBytesAndNodes) {
  double before = 0;
  for (const int gpus : {16, 24, 64, 1024}) {
    const double floor = FloorOf("dgx h100", gpus, CollectiveKind::kAllReduce, kGigabyte);
    EXPECT_GT(floor, before);
    before = floor;
  }
}

}  // namespace
}  // namespace orrery::collective
