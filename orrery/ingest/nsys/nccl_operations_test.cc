#include "orrery/ingest/nsys/nccl_operations.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"

namespace orrery::ingest::nsys {
namespace {

using Role = NcclCall::Role;

NcclCall CallAt(std::int64_t begin_ns, Role role = Role::kData, RowId track = 0) {
  return {.role = role, .track = track, .time = {.begin_ns = begin_ns, .duration_ns = 2}};
}

TEST(NcclOperationsTest, ACallOutsideGroupsStandsAlone) {
  const auto operations = GroupNcclCalls({CallAt(10)});

  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].begin_ns, 10);
  EXPECT_EQ(operations[0].end_ns, 12);
}

// Outer group [0, 42) with an inner one inside; the kernels are launched at the outer end.
TEST(NcclOperationsTest, NestedGroupsAreOneOperationThatLastsToTheOuterEnd) {
  const auto operations =
      GroupNcclCalls({CallAt(0, Role::kGroupStart), CallAt(10), CallAt(15, Role::kGroupStart),
                      CallAt(20), CallAt(30, Role::kGroupEnd), CallAt(40, Role::kGroupEnd)});

  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].calls.size(), 2U);
  EXPECT_EQ(operations[0].begin_ns, 0);
  EXPECT_EQ(operations[0].end_ns, 42);
}

TEST(NcclOperationsTest, GroupsAreFollowedThreadByThread) {
  const auto operations =
      GroupNcclCalls({CallAt(0, Role::kGroupStart, 0), CallAt(1, Role::kData, 1),
                      CallAt(2, Role::kData, 0), CallAt(3, Role::kGroupEnd, 0)});

  ASSERT_EQ(operations.size(), 2U);
  EXPECT_EQ(operations[0].track, 0U);
  EXPECT_EQ(operations[0].end_ns, 5);
  EXPECT_EQ(operations[1].track, 1U);
  EXPECT_EQ(operations[1].end_ns, 3);
}

TEST(NcclOperationsTest, AGroupThatIsCutAtEitherEndLosesNoCall) {
  const auto operations = GroupNcclCalls({CallAt(0, Role::kGroupEnd), CallAt(10),
                                          CallAt(20, Role::kGroupStart), CallAt(30), CallAt(40)});

  EXPECT_EQ(operations.size(), 3U);
}

NcclCall Sized(CollectiveKind kind, std::int64_t bytes) {
  return {.kind = kind, .bytes = bytes};
}

TEST(MessageSizesTest, TheSizeOfAPartGrowsByTheRanksOnTheGatheredSide) {
  const auto gather = SumMessageSizes({Sized(CollectiveKind::kAllGather, 100)}, 8);
  EXPECT_EQ(gather.in_bytes, 100);
  EXPECT_EQ(gather.out_bytes, 800);
  const auto scatter = SumMessageSizes({Sized(CollectiveKind::kReduceScatter, 100)}, 8);
  EXPECT_EQ(scatter.in_bytes, 800);
  EXPECT_EQ(scatter.out_bytes, 100);
  EXPECT_EQ(SumMessageSizes({Sized(CollectiveKind::kAllGather, 100)}, -1).out_bytes, -1);
}

TEST(MessageSizesTest, AnExchangeReadsWhatItSendsAndWritesWhatItReceives) {
  const auto sizes =
      SumMessageSizes({Sized(CollectiveKind::kSend, 10), Sized(CollectiveKind::kRecv, 30),
                       Sized(CollectiveKind::kSend, 5)},
                      2);

  EXPECT_EQ(sizes.in_bytes, 15);
  EXPECT_EQ(sizes.out_bytes, 30);
}

TEST(MessageSizesTest, OneUnknownSizeMakesTheSumUnknown) {
  const auto sizes = SumMessageSizes(
      {Sized(CollectiveKind::kAllReduce, 10), Sized(CollectiveKind::kAllReduce, -1)}, 2);

  EXPECT_EQ(sizes.in_bytes, -1);
}

}  // namespace
}  // namespace orrery::ingest::nsys
