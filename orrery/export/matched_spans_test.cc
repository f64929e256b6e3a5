#include "orrery/export/matched_spans.h"

#include <gtest/gtest.h>

#include "orrery/trace/collective_matching.h"

namespace orrery::exporting {
namespace {

// Two ranks meet in one all-reduce of 2 KiB; rank 0 begins at 40, rank 1 at 43 µs, both end at 60.
// Rank 0 waits 3 µs; of two ranks the bus carries 2 (2 - 1) / 2 = 1 byte for each byte.
TEST(MatchedSpansTest, AMatchedCollectiveHasItsGroupItsWaitsAndItsBusFactor) {
  trace::TraceSet set;
  for (int rank = 0; rank < 2; ++rank) {
    trace::Trace trace;
    trace.info.rank = rank;
    const trace::RowId group = trace.process_groups.Append({
        .name = trace.strings.Intern("0"),
        .description = trace.strings.Intern("default_pg"),
        .num_ranks = 2,
        .ranks = trace.strings.Intern("[0,1]"),
    });
    trace.collectives.Append({.begin_ns = 40'000 + 3'000 * rank,
                              .duration_ns = 20'000 - 3'000 * rank,
                              .kind = trace::CollectiveKind::kAllReduce,
                              .group = group,
                              .in_bytes = 2048,
                              .out_bytes = 2048,
                              .sequence = 7,
                              .num_kernels = 1});
    set.ranks.push_back(std::move(trace));
  }

  const auto spans = SpansOf(set, trace::MatchCollectives(set));

  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].group, "group 0 default_pg [0,1]");
  EXPECT_EQ(spans[0].name, "all_reduce");
  EXPECT_EQ(spans[0].bytes, 2048);
  EXPECT_EQ(spans[0].bus_factor, 1.0);
  ASSERT_EQ(spans[0].members.size(), 2U);
  EXPECT_EQ(spans[0].members[0].wait_ns, 3'000);
  EXPECT_EQ(spans[0].members[1].wait_ns, 0);
}

}  // namespace
}  // namespace orrery::exporting
