#include "orrery/collective/nccl/tuner_tables.h"

#include <cstddef>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/collective/algorithm.h"

namespace orrery::collective {
namespace {

constexpr auto kTree = static_cast<std::size_t>(Algorithm::kTree);
constexpr auto kRing = static_cast<std::size_t>(Algorithm::kRing);
constexpr auto kNvls = static_cast<std::size_t>(Algorithm::kNvls);
constexpr std::size_t kLl = 0;
constexpr std::size_t kSimple = 2;

const TunerTables& Of(std::string_view version) {
  return *FindTunerTables(version).value();
}

TEST(TunerTablesTest, AVersionHasTheConstantsOfTheLastChangeBeforeIt) {
  EXPECT_EQ(Of("").version, "2.28");
  EXPECT_EQ(Of("2.30.7").version, "2.28");
  EXPECT_EQ(Of("2.29.3+cuda13.1").version, "2.28");
  EXPECT_EQ(Of("2.27.3").version, "2.25");
  EXPECT_EQ(Of("2.20.5").version, "2.19");
  EXPECT_EQ(Of("2.12.12").version, "2.12");
  EXPECT_EQ(Of("3.0").version, "2.28");
}

TEST(TunerTablesTest, WhatIsNoKnownVersionIsRejected) {
  EXPECT_EQ(FindTunerTables("latest").error().message(),
            "'latest' is no version of NCCL such as 2.21.5");
  EXPECT_EQ(FindTunerTables("2").error().message(), "'2' is no version of NCCL such as 2.21.5");
  EXPECT_EQ(FindTunerTables("2.4.8").error().message(),
            "the oldest NCCL whose choices are known is 2.12, not 2.4.8");
}

TEST(TunerTablesTest, AnOlderVersionDiffersOnlyInWhatItNames) {
  const TunerTables& newest = NewestTunerTables();
  EXPECT_EQ(newest.latencies.nvlink[kTree][kSimple], 4.0);
  EXPECT_EQ(Of("2.22").latencies.nvlink[kTree][kSimple], 28);
  EXPECT_EQ(Of("2.22").latencies.nvlink[kRing], newest.latencies.nvlink[kRing]);
  EXPECT_EQ(Of("2.22").latencies.nvlink[kNvls][kSimple], 25);
  EXPECT_EQ(Of("2.21").latencies.nvlink[kNvls][kSimple], 23);
  EXPECT_EQ(Of("2.12").latencies.base[kTree][kLl], 4.4);
  EXPECT_EQ(Of("2.12").latencies.base[kRing][kLl], 3.6);
  EXPECT_EQ(Of("2.19").ring_ll_share, 0.25);
  EXPECT_EQ(Of("2.21").ring_ll_share, 0.5);
  EXPECT_FALSE(Of("2.12").has_nvls);
  EXPECT_FALSE(Of("2.22").has_pat);
  EXPECT_TRUE(Of("2.23").has_pat);
}

TEST(TunerTablesTest, BlackwellCountsAsHopperBeforeItHasRows) {
  const std::size_t blackwell = RowOf(GpuGeneration::kBlackwell);
  const std::size_t hopper = RowOf(GpuGeneration::kHopper);
  EXPECT_EQ(Of("2.23").limits.ll[blackwell], Of("2.23").limits.ll[hopper]);
  EXPECT_EQ(Of("2.25").limits.ll[blackwell][0], 282);
}

TEST(TunerTablesTest, CorrectionsEndWhereNcclStopsToLook) {
  for (const auto& row : NewestTunerTables().tree_correction) {
    EXPECT_EQ(row.size(), 23);
  }
}

}  // namespace
}  // namespace orrery::collective
