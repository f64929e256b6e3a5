#include "orrery/export/collective_spans.h"

#include <gtest/gtest.h>

namespace orrery::exporting {
namespace {

// Begins at 100, 130, 190 and ends at 240, 241, 239: all wait for the third, that is 90, 60 and 0;
// the shortest is its 49.
TEST(CollectiveSpansTest, FiguresFollowFromTheMembers) {
  CollectiveSpan span{.group = "g",
                      .name = "all_reduce",
                      .bytes = 490,
                      .bus_factor = 1.5,
                      .members = {{.rank_index = 0, .begin_ns = 100, .end_ns = 240},
                                  {.rank_index = 1, .begin_ns = 130, .end_ns = 241},
                                  {.rank_index = 2, .begin_ns = 190, .end_ns = 239}}};
  WaitForLastArrival(span);
  const CollectiveFigures figures = FiguresOf(span);
  EXPECT_EQ(span.members[0].wait_ns, 90);
  EXPECT_EQ(span.members[1].wait_ns, 60);
  EXPECT_EQ(figures.wait_sum_ns, 150);
  EXPECT_EQ(figures.transfer_ns, 49);
  EXPECT_EQ(figures.last_member, 2U);
  EXPECT_EQ(figures.begin_ns, 100);
  EXPECT_EQ(figures.end_ns, 241);
  // 490 bytes * 1.5 in 49 ns.
  EXPECT_DOUBLE_EQ(figures.bus_bytes_per_second, 15e9);
}

TEST(CollectiveSpansTest, AMemberThatLeftBeforeTheLastCameWaitedAllItsTime) {
  CollectiveSpan span;
  span.members = {{.begin_ns = 0, .end_ns = 10}, {.rank_index = 1, .begin_ns = 50, .end_ns = 60}};
  WaitForLastArrival(span);
  EXPECT_EQ(span.members[0].wait_ns, 10);
}

TEST(CollectiveSpansTest, BandwidthIsUnknownWithoutSizeOrTime) {
  CollectiveSpan span;
  span.bus_factor = 1;
  span.members = {{.begin_ns = 0, .end_ns = 10}};
  EXPECT_LT(FiguresOf(span).bus_bytes_per_second, 0);
  span.bytes = 5;
  EXPECT_GT(FiguresOf(span).bus_bytes_per_second, 0);
  span.members[0].end_ns = 0;
  EXPECT_LT(FiguresOf(span).bus_bytes_per_second, 0);
}

}  // namespace
}  // namespace orrery::exporting
