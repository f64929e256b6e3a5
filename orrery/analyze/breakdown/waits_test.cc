#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/analyze/straggler/arrivals.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;
using test_run::Span;

trace::TraceSet AllReduces(const std::vector<std::vector<Span>>& spans_of_ranks) {
  trace::TraceSet set;
  for (std::size_t i = 0; i < spans_of_ranks.size(); ++i) {
    Rank rank(static_cast<std::int32_t>(i));
    std::string ranks = "[0";
    for (std::size_t other = 1; other < spans_of_ranks.size(); ++other) {
      ranks += ", " + std::to_string(other);
    }
    const RowId group =
        rank.Group("tp", ranks + "]", static_cast<std::int32_t>(spans_of_ranks.size()));
    std::int64_t sequence = 0;
    for (const Span& span : spans_of_ranks[i]) {
      rank.Collective({.span = span, .group = group, .bytes = 1024, .sequence = ++sequence});
    }
    set.ranks.push_back(rank.Finish());
  }
  return set;
}

RunView View(trace::TraceSet& set) {
  return ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
}

// Starts 100, 130, 190; ends 240, 241, 239. Last arrival 190, so waits 90, 60, 0; the shortest
// duration is 49. Rank 2 made the others wait 150; fixing it alone saves 190 - 130 = 60.
TEST(WaitsTest, AllReduceOfThreeRanks) {
  trace::TraceSet set = AllReduces({{{100, 240}}, {{130, 241}}, {{190, 239}}});
  const RunView run = View(set);
  ASSERT_EQ(run.matched.size(), 1u);
  EXPECT_EQ(run.waits.wait_ns, (std::vector<std::int64_t>{90'000, 60'000, 0}));
  EXPECT_EQ(run.waits.transfer_ns[0], 49'000);
  EXPECT_EQ(run.waits.last_arrival_ns[0], 190'000);
  const std::vector<RankArrivals> ranks = ArrivalsByRank(CountArrivals(run));
  EXPECT_EQ(ranks[0].rank, 2);
  EXPECT_EQ(ranks[0].times_last, 1);
  EXPECT_EQ(ranks[0].blame_ns, 150'000);
  EXPECT_EQ(ranks[0].gain_ns, 60'000);
}

// No rank can finish before the last one arrives: the match is wrong, and nothing is derived.
TEST(WaitsTest, AnEndBeforeTheLastArrivalIsDoubtful) {
  trace::TraceSet set = AllReduces({{{100, 150}}, {{160, 200}}});
  const RunView run = View(set);
  ASSERT_EQ(run.matched.size(), 1u);
  EXPECT_EQ(run.waits.is_reliable[0], 0);
  EXPECT_EQ(run.waits.num_doubtful, 1);
  EXPECT_TRUE(CountArrivals(run).empty());
}

trace::TraceSet Pair(Span send, Span receive) {
  trace::TraceSet set;
  Rank sender(0);
  const RowId group = sender.Group("pp", "[0, 1]", 2);
  sender.Collective({.kind = CollectiveKind::kSend, .span = send, .group = group, .peer = 1});
  Rank receiver(1);
  const RowId same = receiver.Group("pp", "[0, 1]", 2);
  receiver.Collective({.kind = CollectiveKind::kRecv, .span = receive, .group = same, .peer = 0});
  set.ranks.push_back(sender.Finish());
  set.ranks.push_back(receiver.Finish());
  return set;
}

TEST(WaitsTest, AReceiveWaitsForItsSend) {
  trace::TraceSet set = Pair({50, 60}, {20, 60});
  const RunView run = View(set);
  ASSERT_EQ(run.matched.size(), 1u);
  EXPECT_EQ(run.waits.wait_ns, (std::vector<std::int64_t>{0, 30'000}));
}

// A small message is on its way before anybody asks for it: neither waits.
TEST(WaitsTest, ABufferedSendWaitsForNobody) {
  trace::TraceSet set = Pair({10, 15}, {40, 44});
  const RunView run = View(set);
  EXPECT_EQ(run.waits.wait_ns, (std::vector<std::int64_t>{0, 0}));
}

// Collectives that all ranks leave at 1000, 2000, …, each rank arriving up to 800 before.
std::vector<std::vector<Span>> ArbitraryArrivals() {
  const int num_ranks = *rc::gen::inRange(2, 6);
  const int num_collectives = *rc::gen::inRange(1, 8);
  std::vector<std::vector<Span>> spans(static_cast<std::size_t>(num_ranks));
  for (std::int64_t c = 1; c <= num_collectives; ++c) {
    for (std::vector<Span>& rank : spans) {
      rank.push_back({c * 1000 - *rc::gen::inRange(1, 800), c * 1000});
    }
  }
  return spans;
}

RC_GTEST_PROP(WaitsProperty, WaitAndTransferAreTheDurationAndBlameIsAllWaiting, ()) {
  trace::TraceSet set = AllReduces(ArbitraryArrivals());
  const RunView run = View(set);
  std::int64_t waits_ns = 0;
  std::int64_t spread_ns = 0;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    bool somebody_does_not_wait = false;
    std::int64_t first_ns = run.waits.last_arrival_ns[instance];
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      const std::int64_t wait_ns = run.waits.wait_ns[member];
      const std::int64_t begin_ns = run.matched.members.begin_ns[member];
      RC_ASSERT(wait_ns >= 0);
      RC_ASSERT(wait_ns <= run.matched.members.end_ns[member] - begin_ns);
      somebody_does_not_wait |= wait_ns == 0;
      first_ns = std::min(first_ns, begin_ns);
      waits_ns += wait_ns;
    }
    spread_ns += run.waits.last_arrival_ns[instance] - first_ns;
    RC_ASSERT(somebody_does_not_wait);
  }
  std::int64_t blame_ns = 0;
  std::int64_t gain_ns = 0;
  for (const RankArrivals& rank : ArrivalsByRank(CountArrivals(run))) {
    blame_ns += rank.blame_ns;
    gain_ns += rank.gain_ns;
  }
  RC_ASSERT(blame_ns == waits_ns);
  RC_ASSERT(gain_ns <= spread_ns);
}

RC_GTEST_PROP(WaitsProperty, MovingAllTimesChangesNothing, ()) {
  std::vector<std::vector<Span>> spans = ArbitraryArrivals();
  trace::TraceSet set = AllReduces(spans);
  for (std::vector<Span>& rank : spans) {
    for (Span& span : rank) {
      span.begin += 12'345;
      span.end += 12'345;
    }
  }
  trace::TraceSet moved = AllReduces(spans);
  const RunView run = View(set);
  const RunView moved_run = View(moved);
  RC_ASSERT(run.waits.wait_ns == moved_run.waits.wait_ns);
  RC_ASSERT(run.waits.transfer_ns == moved_run.waits.transfer_ns);
}

}  // namespace
}  // namespace orrery::analyze
