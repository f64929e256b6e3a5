// Matching and clock alignment on the two recorded runs of eight ranks. Expectations were computed
// from the files by other means: collectives of equal place on the one communication stream.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/math/statistics.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace_set.h"
#include "test_paths.h"

namespace orrery::ingest {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;
using trace::MatchedCollectives;
using trace::TraceSet;

std::vector<double> SpreadsUs(const MatchedCollectives& matched) {
  std::vector<double> spreads;
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    spreads.push_back(static_cast<double>(EndSpreadNs(matched, instance)) / 1000);
  }
  return spreads;
}

// Returns how often each rank arrived last.
std::map<std::int32_t, int> LastArrivals(const TraceSet& set, const MatchedCollectives& matched) {
  std::map<std::int32_t, int> arrivals;
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    const std::uint32_t member = LastMember(matched, instance);
    ++arrivals[RankOf(set, matched.members.rank_index[member])];
  }
  return arrivals;
}

std::vector<double> OwnOffsetsUs(const trace::ClockAlignment& alignment) {
  std::vector<double> offsets;
  for (const trace::RankClock& rank : alignment.ranks) {
    offsets.push_back(rank.own_offset_ns / 1000);
  }
  return offsets;
}

const std::string kMegatron = ORRERY_SHARED "/traces/astra-sim/megatron-tp8";
const std::string kDlrm = ORRERY_SHARED "/traces/param/dlrm-8gpu";

TEST(RealRunsTest, MegatronMeetsEightyFourTimes) {
  if (!std::filesystem::exists(kMegatron)) {
    GTEST_SKIP() << "the Megatron recordings are not here: " << kMegatron;
  }
  auto read = ReadRun({kMegatron});
  ASSERT_TRUE(read) << read.error().message();
  TraceSet& set = read->set;

  const trace::AlignedRun run = trace::MatchAndAlign(set);

  EXPECT_EQ(run.matched.size(), 84U);
  EXPECT_THAT(run.matched.instances.num_members, Each(8));
  EXPECT_THAT(run.matched.instances.flags, Each(0));
  for (const trace::RankMatching& rank : run.matched.ranks) {
    EXPECT_EQ(rank.num_matched, 84);
    EXPECT_EQ(rank.num_unmatched, 0);
    EXPECT_EQ(rank.num_in_groups_of_one + rank.num_without_kernels, 1);
  }
  const std::vector<double> spreads = SpreadsUs(run.matched);
  EXPECT_EQ(Median(spreads), 30);
  EXPECT_EQ(*std::ranges::max_element(spreads), 49);
  EXPECT_THAT(LastArrivals(set, run.matched),
              UnorderedElementsAre(Pair(0, 32), Pair(6, 28), Pair(3, 15), Pair(1, 4), Pair(2, 4),
                                   Pair(5, 1)));
  EXPECT_THAT(OwnOffsetsUs(run.alignment),
              ElementsAre(-4.25, 1.25, 4.5, 5.75, 2.0, -1.5, -4.25, -2.75));
  EXPECT_FALSE(run.alignment.applies());
}

TEST(RealRunsTest, DlrmMeetsEightTimes) {
  if (!std::filesystem::exists(kDlrm)) {
    GTEST_SKIP() << "the DLRM recordings are not here: " << kDlrm;
  }
  auto read = ReadRun({kDlrm});
  ASSERT_TRUE(read) << read.error().message();
  TraceSet& set = read->set;

  const trace::AlignedRun run = trace::MatchAndAlign(set);

  EXPECT_EQ(run.matched.size(), 8U);
  EXPECT_THAT(run.matched.instances.num_members, Each(8));
  EXPECT_THAT(run.matched.instances.flags, Each(0));
  for (const trace::RankMatching& rank : run.matched.ranks) {
    EXPECT_EQ(rank.num_matched, 8);
    EXPECT_EQ(rank.num_unmatched, 0);
  }
  const std::vector<double> spreads = SpreadsUs(run.matched);
  EXPECT_EQ(Median(spreads), 2.5);
  EXPECT_EQ(*std::ranges::max_element(spreads), 7);
  EXPECT_THAT(LastArrivals(set, run.matched),
              UnorderedElementsAre(Pair(7, 5), Pair(5, 2), Pair(4, 1)));
  EXPECT_THAT(OwnOffsetsUs(run.alignment), ElementsAre(1.0, 0.0, 0.0, -1.0, 0.5, 0.0, 0.0, 0.0));
  EXPECT_FALSE(run.alignment.applies());
}

}  // namespace
}  // namespace orrery::ingest
