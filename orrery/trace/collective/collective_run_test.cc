// Properties of matching on whole random runs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/runs_test.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

using test_runs::Draw;
using test_runs::Group;

// Two groups of two ranks and one of all four, with sends along a ring; some events are lost, some
// profiles begin late, and numbers are there or not.
TraceSet RandomRun(std::mt19937& engine) {
  const bool numbered = engine() % 2 == 0;
  const bool grouped = numbered || engine() % 2 == 0;
  const std::vector<Group> groups{{.name = "w", .ranks = "[0, 1, 2, 3]", .size = 4},
                                  {.name = "t", .ranks = "[0, 1]", .size = 2},
                                  {.name = "t", .ranks = "[2, 3]", .size = 2}};
  const std::vector<std::vector<std::int32_t>> members{{0, 1, 2, 3}, {0, 1}, {2, 3}};
  TraceSet set = test_runs::MakeRun(groups, {{}, {}, {}, {}});
  std::int64_t time_us = 0;
  const std::int64_t num_calls = 5 + Draw(engine, 60);
  for (std::int64_t call = 0; call < num_calls; ++call) {
    time_us += 50 + Draw(engine, 500);
    const auto group = static_cast<RowId>(engine() % 3);
    const std::int64_t bytes = 1 << (engine() % 6);
    for (const std::int32_t rank : members[group]) {
      const bool lost = engine() % 50 == 0 || (call < 3 && engine() % 4 == 0);
      if (!lost) {
        test_runs::AddCall(set.ranks[static_cast<std::size_t>(rank)],
                           {.begin = time_us + Draw(engine, 20),
                            .duration = 20 + Draw(engine, 5),
                            .group = grouped ? group : kNoRow,
                            .bytes = bytes,
                            .sequence = numbered ? call : -1});
      }
    }
    if (engine() % 4 == 0) {
      const auto from = static_cast<std::int32_t>(engine() % 4);
      const std::int32_t to = (from + 1) % 4;
      test_runs::AddCall(
          set.ranks[static_cast<std::size_t>(from)],
          {.begin = time_us + 40, .kind = CollectiveKind::kSend, .group = 0, .peer = to});
      test_runs::AddCall(
          set.ranks[static_cast<std::size_t>(to)],
          {.begin = time_us + 40, .kind = CollectiveKind::kRecv, .group = 0, .peer = from});
    }
  }
  return set;
}

// A match without indices that depend on the input's order: (rank, row) of each member and the
// other fields.
using Description = std::tuple<std::vector<std::pair<std::int32_t, RowId>>, CollectiveKind,
                               std::string, std::int64_t, MatchRule, std::uint8_t>;

std::vector<Description> Describe(const TraceSet& set, const MatchedCollectives& matched) {
  std::vector<Description> all;
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    std::vector<std::pair<std::int32_t, RowId>> members;
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      members.emplace_back(RankOf(set, matched.members.rank_index[member]),
                           matched.members.collective[member]);
    }
    const MatchedInstances::Row row = matched.instances.At(static_cast<RowId>(instance));
    all.emplace_back(members, row.kind, matched.groups[row.group].key, row.bytes, row.rule,
                     row.flags);
  }
  return all;
}

RC_GTEST_PROP(CollectiveRunProperty, TheOrderOfRanksInTheSetDoesNotMatter, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  std::mt19937 engine(seed);
  const TraceSet set = RandomRun(engine);
  engine.seed(seed);
  TraceSet shuffled = RandomRun(engine);
  for (std::size_t i = shuffled.ranks.size() - 1; i > 0; --i) {
    std::swap(shuffled.ranks[i], shuffled.ranks[engine() % (i + 1)]);
  }

  RC_ASSERT(Describe(set, MatchCollectives(set)) == Describe(shuffled, MatchCollectives(shuffled)));
}

RC_GTEST_PROP(CollectiveRunProperty, EveryRowIsCountedOnce, ()) {
  std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
  const TraceSet set = RandomRun(engine);

  const MatchedCollectives matched = MatchCollectives(set);

  std::set<std::pair<std::uint32_t, RowId>> rows;
  for (std::size_t member = 0; member < matched.members.size(); ++member) {
    rows.emplace(matched.members.rank_index[member], matched.members.collective[member]);
  }
  RC_ASSERT(rows.size() == matched.members.size());
  const auto& counts = matched.instances.num_members;
  RC_ASSERT(std::accumulate(counts.begin(), counts.end(), std::size_t{0}) ==
            matched.members.size());
  for (std::uint32_t rank = 0; rank < set.ranks.size(); ++rank) {
    const RankMatching& of_rank = matched.ranks[rank];
    const auto placed =
        std::ranges::count_if(rows, [&](const auto& row) { return row.first == rank; });
    RC_ASSERT(of_rank.num_matched == placed);
    RC_ASSERT(of_rank.num_matched + of_rank.num_unmatched ==
              std::ssize(set.ranks[rank].collectives.kind));
  }
}

RC_GTEST_PROP(CollectiveRunProperty, AMemberAppearsOncePerInstanceAndSomebodyDoesNotWait, ()) {
  std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
  const TraceSet set = RandomRun(engine);

  const MatchedCollectives matched = MatchCollectives(set);

  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    std::set<std::uint32_t> ranks;
    std::int64_t least_wait_ns = INT64_MAX;
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      ranks.insert(matched.members.rank_index[member]);
      RC_ASSERT(WaitNs(matched, instance, member) >= 0);
      least_wait_ns = std::min(least_wait_ns, WaitNs(matched, instance, member));
    }
    RC_ASSERT(ranks.size() == matched.instances.num_members[instance]);
    RC_ASSERT(ranks.size() >= 2);
    RC_ASSERT(least_wait_ns == 0);
  }
}

// With numbers nothing that has a counterpart is missed: two or more ranks recorded it.
RC_GTEST_PROP(CollectiveRunProperty, NumbersFindEverything, ()) {
  std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
  const TraceSet set = RandomRun(engine);
  std::map<std::pair<RowId, std::int64_t>, int> recorded;
  for (const Trace& trace : set.ranks) {
    for (RowId row = 0; row < trace.collectives.size(); ++row) {
      RC_PRE(trace.collectives.kind[row] != CollectiveKind::kAllReduce ||
             trace.collectives.sequence[row] >= 0);
      if (trace.collectives.kind[row] == CollectiveKind::kAllReduce) {
        ++recorded[{trace.collectives.group[row], trace.collectives.sequence[row]}];
      }
    }
  }
  const auto expected = std::ranges::count_if(recorded, [](const auto& r) { return r.second > 1; });

  const MatchedCollectives matched = MatchCollectives(set);

  RC_ASSERT(std::ranges::count(matched.instances.kind, CollectiveKind::kAllReduce) == expected);
}

}  // namespace
}  // namespace orrery::trace
