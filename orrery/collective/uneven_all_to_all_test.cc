
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/closed_form.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/nccl/tuner_tables.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

using ::testing::HasSubstr;

Fabric FabricOfGpus(std::string_view cluster, int gpus) {
  return *FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus});
}

SendMatrix Even(int ranks, double bytes) {
  return {ranks, std::vector<double>(static_cast<std::size_t>(ranks * ranks), bytes)};
}

TEST(UnevenAllToAll, EqualPartsAreTheEvenOne) {
  for (const int gpus : {8, 32}) {
    const Fabric fabric = FabricOfGpus("dgx h100", gpus);
    const double part = 1 << 20;
    const Request even{CollectiveKind::kAllToAll, Bytes{static_cast<std::int64_t>(part) * gpus},
                       DataType::kFp32};
    const double expected = ClosedFormSeconds(fabric, even, {Algorithm::kDirect, Protocol::kSimple},
                                              NewestTunerTables(), DefaultConstants());
    EXPECT_NEAR(*UnevenAllToAllSeconds(fabric, Even(gpus, part), DefaultConstants()), expected,
                1e-9 * expected);
  }
}

TEST(UnevenAllToAll, LoadsAreThoseOfTheBusiestRank) {
  // Four ranks, two a node. Rank 0 sends 5 to its neighbour and 7 to rank 2; ranks 1 and 3 send 4
  // each to rank 2, so rank 2 receives 4 over its links and 11 over its NIC.
  SendMatrix matrix = Even(4, 0);
  matrix.bytes[1] = 5;
  matrix.bytes[2] = 7;
  matrix.bytes[1 * 4 + 2] = 4;
  matrix.bytes[3 * 4 + 2] = 4;
  matrix.bytes[3 * 4 + 3] = 9;
  const UnevenLoads loads = LoadsOf(matrix, 2);
  EXPECT_DOUBLE_EQ(loads.intra_bytes, 5);
  EXPECT_DOUBLE_EQ(loads.inter_bytes, 11);
  EXPECT_DOUBLE_EQ(loads.own_bytes, 9);
  EXPECT_DOUBLE_EQ(loads.sent_bytes, 13);
}

TEST(UnevenAllToAll, OneHotReceiverHoldsAllUp) {
  const Fabric fabric = FabricOfGpus("dgx h100", 32);
  const double part = 64 << 20;
  SendMatrix hot = Even(32, part);
  for (std::size_t from = 0; from < 32; ++from) {
    hot.bytes[from * 32 + 5] *= 3;
  }
  const double even = *UnevenAllToAllSeconds(fabric, Even(32, part), DefaultConstants());
  const double uneven = *UnevenAllToAllSeconds(fabric, hot, DefaultConstants());
  EXPECT_NEAR(uneven / even, 3, 0.1);
}

TEST(UnevenAllToAll, WrongMatricesAreRejected) {
  const Fabric fabric = FabricOfGpus("dgx h100", 8);
  const auto other = UnevenAllToAllSeconds(fabric, Even(4, 1), DefaultConstants());
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(other.error().message(), HasSubstr("of 4 ranks, the group of 8"));
  SendMatrix negative = Even(8, 1);
  negative.bytes[10] = -2;
  const auto refused = UnevenAllToAllSeconds(fabric, negative, DefaultConstants());
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message(), HasSubstr("rank 1 sends -2 bytes to rank 2"));
}

}  // namespace
}  // namespace orrery::collective
