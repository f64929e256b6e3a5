#include "orrery/api/view/tiles/activity.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/api/view/tiles/activity_mipmap.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api::view {
namespace {

using enum Activity;

ActivityLine LineOf(analyze::test_run::Rank rank) {
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  return RecordedActivity(analyze::ViewRun(set, {}, {}), 0);
}

TEST(RecordedActivityTest, KernelsComeBeforeCopiesAndPausesAreTheHostsUntilTheLaunch) {
  analyze::test_run::Rank rank(0);
  // A copy from 0 to 20 beside a GEMM from 10 to 30; the next kernel runs from 60 to 70 and is
  // launched at 45: the host is late from 30 to 45, and the rest is idle.
  rank.Copy("Memcpy HtoD", {0, 20}, 100, 9);
  rank.Kernel("sm90_xmma_gemm_bf16", {10, 30}, 7, rank.Call({1, 2}));
  rank.Kernel("vectorized_elementwise_kernel", {60, 70}, 7, rank.Call({45, 46}));
  const ActivityLine line = LineOf(std::move(rank));
  EXPECT_EQ(line.begin_ns, (std::vector<std::int64_t>{0, 10'000, 30'000, 45'000, 60'000}));
  EXPECT_EQ(line.what, (std::vector<Activity>{kMemory, kGemm, kHost, kIdle, kCompute}));
  EXPECT_EQ(line.end_ns, 70'000);
}

TEST(RecordedActivityTest, WaitingForALatePeerIsNotTransfer) {
  // Both end at 40. Rank 1 arrives at 30: rank 0 waits from 10 to 30, then both transfer.
  trace::TraceSet set;
  for (const std::int32_t number : {0, 1}) {
    analyze::test_run::Rank rank(number);
    const RowId group = rank.Group("0", "[0, 1]", 2);
    rank.Collective(
        {.span = {number == 0 ? 10 : 30, 40}, .group = group, .bytes = 1 << 20, .sequence = 1});
    set.ranks.push_back(rank.Finish());
  }
  const analyze::RunView view = analyze::ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
  const ActivityLine early = RecordedActivity(view, 0);
  EXPECT_EQ(early.what, (std::vector<Activity>{kWait, kCommunication}));
  EXPECT_EQ(early.begin_ns[1] - early.begin_ns[0], 20'000);
  EXPECT_EQ(RecordedActivity(view, 1).what, (std::vector<Activity>{kCommunication}));
}

// Stage 0 sends to stage 1 at 10, gets its gradient at 40 and computes until 60; stage 1 ends its
// last pass at 40. Both sum over all ranks; stage 1 waits there from 40 to 60 for the drain.
TEST(RecordedActivityTest, TheDrainOfAPipelineIsBubble) {
  trace::TraceSet set;
  for (const std::int32_t stage : {0, 1}) {
    analyze::test_run::Rank rank(stage);
    const bool is_first = stage == 0;
    const RowId pipeline = rank.Group("pp", "[0, 1]", 2, "PIPELINE_MODEL_PARALLEL_GROUP");
    const RowId all = rank.Group("all", "[0, 1]", 2, "default_pg");
    const std::int64_t call = rank.Call({-2, -1});
    rank.Kernel("gemm", is_first ? analyze::test_run::Span{0, 10} : analyze::test_run::Span{12, 40},
                7, call);
    rank.Collective({.kind = is_first ? CollectiveKind::kSend : CollectiveKind::kRecv,
                     .span = {is_first ? 10 : 0, 12},
                     .group = pipeline,
                     .peer = 1 - stage});
    if (is_first) {
      rank.Kernel("gemm", {42, 60}, 7, call);
    }
    rank.Collective({.span = {is_first ? 60 : 40, 65}, .group = all, .sequence = 1, .stream = 21});
    set.ranks.push_back(rank.Finish());
  }
  const analyze::RunView view = analyze::ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
  EXPECT_EQ(RecordedActivity(view, 1).what,
            (std::vector<Activity>{kBubble, kCommunication, kGemm, kBubble, kCommunication}));
  EXPECT_EQ(RecordedActivity(view, 0).what,
            (std::vector<Activity>{kGemm, kCommunication, kBubble, kGemm, kCommunication}));
}

// Recorded kernels of experts and convolutions are GEMMs, so simulated ones are.
TEST(SimulatedActivityTest, CategoriesBecomeTheClassesOfRecordedKernels) {
  const auto compute = [](const char* category) {
    return ActivityOf(simulate::TimeSlice{0, 1, simulate::TimeKind::kCompute, category});
  };
  EXPECT_EQ(compute("products"), kGemm);
  EXPECT_EQ(compute("experts"), kGemm);
  EXPECT_EQ(compute("convolutions"), kGemm);
  EXPECT_EQ(compute("attention"), kAttention);
  EXPECT_EQ(compute("norms"), kCompute);
}

TEST(ActivityLineTest, AppendMergesEqualNeighboursAndReplacesEmptyOnes) {
  ActivityLine line;
  line.Append(0, kGemm);
  line.Append(10, kGemm);
  line.Append(20, kIdle);
  line.Append(20, kGemm);  // nothing was idle
  line.Append(30, kWait);
  line.end_ns = 40;
  EXPECT_EQ(line.begin_ns, (std::vector<std::int64_t>{0, 30}));
  std::array<std::int64_t, kNumActivities> sums{};
  AddTimes(line, 25, 35, sums);
  EXPECT_EQ(sums[static_cast<std::size_t>(kGemm)], 5);
  EXPECT_EQ(sums[static_cast<std::size_t>(kWait)], 5);
}

// The mipmap must say what the line says, at every level, but for rounding.
TEST(ActivityMipmapTest, EveryLevelHasTheTimesOfTheLine) {
  ActivityLine line;
  constexpr std::int64_t kOrigin = 1'000'000;
  std::uint64_t random = 1;
  std::int64_t at_ns = kOrigin;
  for (int i = 0; i < 5'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    line.Append(at_ns, static_cast<Activity>((random >> 33) % kNumActivities));
    at_ns += 1 + static_cast<std::int64_t>((random >> 40) % 3'000);
  }
  line.end_ns = at_ns;
  const ActivityMipmap mipmap(line, kOrigin);
  for (int level = 0; level < 30; ++level) {
    const std::int64_t num_tiles =
        ((line.end_ns - kOrigin) >> level) / static_cast<std::int64_t>(kBins) + 1;
    for (std::int64_t tile = 0; tile < std::min<std::int64_t>(num_tiles, 3); ++tile) {
      const TileAt at{level, tile};
      std::vector<BinTimes> bins(kBins, BinTimes{});
      mipmap.AddTo(bins, at, 1);
      for (std::size_t bin = 0; bin < kBins; bin += 37) {
        BinTimes expected{};
        const std::int64_t begin_ns =
            kOrigin + at.begin_ns() + static_cast<std::int64_t>(bin) * at.bin_ns();
        AddTimes(line, begin_ns, begin_ns + at.bin_ns(), expected);
        for (std::size_t i = 0; i < kNumActivities; ++i) {
          // Sums of many rounded 65,536ths: within one part in a thousand of a bin.
          EXPECT_NEAR(static_cast<double>(bins[bin][i]), static_cast<double>(expected[i]),
                      1 + static_cast<double>(at.bin_ns()) / 1000)
              << "level " << level << " bin " << bin;
        }
      }
    }
  }
}

TEST(RunsOfTest, NeighboursWithTheSameActivityAreOneRun) {
  std::vector<BinTimes> bins(4, BinTimes{});
  bins[0][1] = 60;
  bins[0][5] = 40;
  bins[1][1] = 100;
  bins[2][5] = 10;
  // The first two bins are 160 of 200 GEMM: 204 of 255. The last has nothing.
  EXPECT_EQ(RunsOf(bins), (std::vector<ActivityRun>{{0, 1, 204}, {2, 5, 255}, {3, kOutside, 0}}));
}

}  // namespace
}  // namespace orrery::api::view
