#include "orrery/export/collective_spans.h"

#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/export/traces_test.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {

// Begins at 100, 130, 190 and ends at 240, 241, 239: all wait for the third, that is 90, 60 and 0;
// the shortest is its 49.
TEST(CollectiveSpansTest, MetricsFollowFromTheMembers) {
  const CollectiveSpan span{
      .group = "g",
      .name = "all_reduce",
      .bytes = 490,
      .bus_factor = 1.5,
      .members = {{.rank_index = 0, .begin_ns = 100, .end_ns = 240, .wait_ns = 90},
                  {.rank_index = 1, .begin_ns = 130, .end_ns = 241, .wait_ns = 60},
                  {.rank_index = 2, .begin_ns = 190, .end_ns = 239}}};
  const CollectiveMetrics metrics = MetricsOf(span);
  EXPECT_EQ(metrics.wait_sum_ns, 150);
  EXPECT_EQ(metrics.transfer_ns, 49);
  EXPECT_EQ(metrics.last_member, 2U);
  EXPECT_EQ(metrics.begin_ns, 100);
  EXPECT_EQ(metrics.end_ns, 241);
  // 490 bytes * 1.5 in 49 ns.
  EXPECT_DOUBLE_EQ(metrics.bus_bytes_per_second, 15e9);
}

TEST(CollectiveSpansTest, BandwidthIsUnknownWithoutSizeOrTime) {
  CollectiveSpan span;
  span.bus_factor = 1;
  span.members = {{.begin_ns = 0, .end_ns = 10}};
  EXPECT_LT(MetricsOf(span).bus_bytes_per_second, 0);
  span.bytes = 5;
  EXPECT_GT(MetricsOf(span).bus_bytes_per_second, 0);
  span.members[0].end_ns = 0;
  EXPECT_LT(MetricsOf(span).bus_bytes_per_second, 0);
}

// Both ranks give their all-reduce the number 12. Rank 0 arrives at 200 us, rank 1 at 220, both end
// at 260; the factor for two ranks is 2 * 1 / 2 = 1.
TEST(CollectiveSpansTest, AMatchedCollectiveBecomesTheSpanThatIsDrawn) {
  const trace::TraceSet set = MakeTestSet();
  const std::vector<CollectiveSpan> spans = SpansOf(set, trace::MatchCollectives(set));
  ASSERT_EQ(spans.size(), 1U);
  const CollectiveSpan& span = spans.front();
  EXPECT_EQ(span.name, "all_reduce");
  EXPECT_TRUE(span.group.starts_with("default_pg "));
  EXPECT_EQ(span.bytes, 2000);
  EXPECT_EQ(span.bus_factor, 1.0);
  ASSERT_EQ(span.members.size(), 2U);
  EXPECT_EQ(span.members[0].wait_ns, 20'000);
  EXPECT_EQ(span.members[1].wait_ns, 0);
  EXPECT_EQ(MetricsOf(span).transfer_ns, 40'000);
}

TEST(CollectiveSpansTest, AnUnreliableMatchShowsNoWaitAndNoBandwidth) {
  const trace::TraceSet set = MakeTestSet();
  trace::MatchedCollectives matched = trace::MatchCollectives(set);
  matched.instances.flags.at(0) |= trace::match_flag::kAmbiguous;
  const std::vector<CollectiveSpan> spans = SpansOf(set, matched);
  EXPECT_EQ(MetricsOf(spans.at(0)).wait_sum_ns, 0);
  EXPECT_LT(MetricsOf(spans.at(0)).bus_bytes_per_second, 0);
}

// A send that is over before the receive begins was buffered: neither side waited.
TEST(CollectiveSpansTest, OnlySendsThatMeetTheirReceiveWait) {
  const trace::TraceSet set = MakeTestSet();
  trace::MatchedCollectives matched = trace::MatchCollectives(set);
  matched.instances.kind.at(0) = CollectiveKind::kSend;
  EXPECT_EQ(MetricsOf(SpansOf(set, matched).at(0)).wait_sum_ns, 20'000);
  matched.members.end_ns.at(0) = matched.members.begin_ns.at(1) - 1;
  EXPECT_EQ(MetricsOf(SpansOf(set, matched).at(0)).wait_sum_ns, 0);
}

}  // namespace
}  // namespace orrery::exporting
