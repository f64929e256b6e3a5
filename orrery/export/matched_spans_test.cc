#include "orrery/export/matched_spans.h"

#include <vector>

#include <gtest/gtest.h>

#include "orrery/export/test_traces.h"
#include "orrery/trace/collective_matching.h"

namespace orrery::exporting {
namespace {

// Both ranks give their all-reduce the number 12. Rank 0 arrives at 200 us, rank 1 at 220, both end
// at 260; the factor for two ranks is 2 * 1 / 2 = 1.
TEST(MatchedSpansTest, AMatchedCollectiveBecomesTheSpanThatIsDrawn) {
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
  EXPECT_EQ(FiguresOf(span).transfer_ns, 40'000);
}

TEST(MatchedSpansTest, AMatchInDoubtShowsNoWaitAndNoBandwidth) {
  const trace::TraceSet set = MakeTestSet();
  trace::MatchedCollectives matched = trace::MatchCollectives(set);
  matched.instances.flags.at(0) |= trace::match_flag::kAmbiguous;
  const std::vector<CollectiveSpan> spans = SpansOf(set, matched);
  EXPECT_EQ(FiguresOf(spans.at(0)).wait_sum_ns, 0);
  EXPECT_LT(FiguresOf(spans.at(0)).bus_bytes_per_second, 0);
}

// A send that is over before the receive begins was buffered: nobody waited.
TEST(MatchedSpansTest, OnlySendsThatMeetTheirReceiveWait) {
  const trace::TraceSet set = MakeTestSet();
  trace::MatchedCollectives matched = trace::MatchCollectives(set);
  matched.instances.kind.at(0) = trace::CollectiveKind::kSend;
  EXPECT_EQ(FiguresOf(SpansOf(set, matched).at(0)).wait_sum_ns, 20'000);
  matched.members.end_ns.at(0) = matched.members.begin_ns.at(1) - 1;
  EXPECT_EQ(FiguresOf(SpansOf(set, matched).at(0)).wait_sum_ns, 0);
}

}  // namespace
}  // namespace orrery::exporting
