#include "orrery/api/view/questions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/sample_run_test.h"
#include "orrery/api/view.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tiles/activity.h"
#include "orrery/api/view/tiles/activity_mipmap.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/parse_json.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"

namespace orrery::api::view {
namespace {

using analyze::test_run::Rank;
using testing::ElementsAre;
using testing::HasSubstr;

// Two ranks with a step from 0 to 100: a GEMM, then an all-reduce for which rank 1 is 20 late.
ingest::Run TwoRanks() {
  ingest::Run run;
  for (const std::int32_t number : {0, 1}) {
    Rank rank(number);
    rank.Step(1, {0, 100});
    const RowId group = rank.Group("0", "[0, 1]", 2);
    rank.Operator("aten::mm", {1, 9});
    rank.Kernel("sm90_gemm", {10, number == 0 ? 40 : 60}, 7, rank.Call({2, 4}));
    rank.Collective({.span = {number == 0 ? 40 : 60, 90},
                     .group = group,
                     .bytes = 1 << 20,
                     .sequence = 1,
                     .stream = 7,
                     .correlation = rank.Call({5, 6})});
    run.set.ranks.push_back(rank.Finish());
  }
  return run;
}

View ViewOf(RunList runs, RunMakers makers = {}) {
  return View(std::make_unique<ViewState>(std::move(runs), std::move(makers)));
}

class QuestionsTest : public testing::Test {
 protected:
  View view_ = ViewOf({ViewedRun::Recorded("two", TwoRanks(), {.threads = 1})});
};

template <typename T>
T At(const std::string& bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

TEST_F(QuestionsTest, SessionNamesRunsAndClasses) {
  const SessionInfo session = DescribeSession(view_, {}).value();
  ASSERT_EQ(session.runs.size(), 1U);
  EXPECT_EQ(session.title, "two");
  EXPECT_EQ(session.runs[0].kind, "recorded");
  EXPECT_EQ(session.runs[0].num_ranks, 2);
  EXPECT_EQ(session.runs[0].length_ns, 100'000);
  EXPECT_EQ(session.classes.size(), kNumActivities);
}

TEST_F(QuestionsTest, RanksAreOrderedByLateness) {
  // Rank 1 arrives 20 us after rank 0.
  EXPECT_THAT(ListRanks(view_, {}).value().late_ns, ElementsAre(0, 20'000));
}

TEST_F(QuestionsTest, ActivityHasALineForEachRank) {
  // Bins of 256 ns: 512 of them are 131 us, so that one tile holds all.
  const std::string bytes =
      MakeActivityTile(view_, {.level = 8, .tile = 0, .count = 64}).value().bytes;
  EXPECT_EQ(At<std::uint32_t>(bytes, 0), 2U);
  const auto runs = At<std::uint32_t>(bytes, 4);
  // Each line begins before the GPU's work, then has the GEMM.
  const std::size_t classes = 8 + 4 * 3 + 2 * runs;
  EXPECT_EQ(At<std::uint8_t>(bytes, classes), kOutside);
  EXPECT_EQ(At<std::uint8_t>(bytes, classes + 1), static_cast<std::uint8_t>(Activity::kGemm));
  EXPECT_EQ(bytes.size(), classes + std::size_t{2} * runs);
}

TEST_F(QuestionsTest, SlicesCarryNamesThatFit) {
  const Columns tile = MakeSliceTile(view_, {.rank = 0, .track = 1, .level = 8, .tile = 0}).value();
  EXPECT_THAT(tile.bytes, HasSubstr("aten::mm"));
}

TEST_F(QuestionsTest, ASliceSaysWhatIsKnown) {
  const Found found = FindSlices(view_, {.text = "sm90"}).value();
  EXPECT_EQ(found.total, 2);
  ASSERT_EQ(found.hits.size(), 2U);
  const SlicePlace& hit = found.hits[0];
  const SliceDetails slice =
      DescribeSlice(view_, {.rank = hit.rank, .track = hit.track, .row = hit.row}).value();
  EXPECT_EQ(slice.name, "sm90_gemm");
  EXPECT_EQ(slice.class_key, "gemm");
  EXPECT_TRUE(slice.launch);
}

TEST_F(QuestionsTest, APlaceSaysOnWhichRowOfItsTrackASliceLies) {
  ingest::Run run;
  Rank rank(0);
  // relu lies on the first row again, since linear has ended.
  rank.Operator("aten::linear", {0, 100}).Operator("aten::addmm", {10, 90});
  rank.Operator("aten::relu", {100, 120});
  run.set.ranks.push_back(rank.Finish());
  const View view = ViewOf({ViewedRun::Recorded("nested", std::move(run), {.threads = 1})});
  const Found found = FindSlices(view, {.text = "aten"}).value();
  std::vector<std::int64_t> depths;
  for (const SlicePlace& hit : found.hits) {
    depths.push_back(hit.depth);
  }
  EXPECT_THAT(depths, ElementsAre(0, 1, 0));
}

TEST_F(QuestionsTest, RangeAddsUpWhatRanksDo) {
  // From 40 to 60 us rank 0 waits and rank 1 computes.
  const RangeTotals totals = SumRange(view_, {.begin = 40'000, .end = 60'000}).value();
  EXPECT_EQ(totals.classes[static_cast<std::size_t>(Activity::kGemm)], 20'000);
  EXPECT_EQ(totals.classes[static_cast<std::size_t>(Activity::kWait)], 20'000);
}

TEST_F(QuestionsTest, CollectivesNameTheLastRank) {
  const Collectives collectives = ListCollectives(view_, {}).value();
  ASSERT_EQ(collectives.instances.size(), 1U);
  EXPECT_EQ(collectives.instances[0].last_rank, 1U);
  EXPECT_EQ(collectives.instances[0].arrival_ns, 60'000);
}

TEST_F(QuestionsTest, WhatIfReplaysTheStep) {
  const WhatIfAnswer answer =
      AnswerWhatIf(view_, {.changes = {{.subject = "class", .name = "gemm", .speedup = 2}}})
          .value();
  // The GEMM of rank 1 is the longest: 50 becomes 25, that of rank 0 15; the step is 25 shorter.
  EXPECT_EQ(answer.before_ns - answer.after_ns, 25'000);
}

TEST(ThreeRuns, AnyTwoAreComparedAndMadeOnesComeBehindThem) {
  RunMakers makers;
  makers.predict = [](const ViewedRun& /*run*/) -> Result<std::shared_ptr<ViewedRun>> {
    return ViewedRun::Recorded("made", TwoRanks(), {.threads = 1});
  };
  const View view = ViewOf({ViewedRun::Recorded("a", TwoRanks(), {.threads = 1}),
                            ViewedRun::Recorded("b", TwoRanks(), {.threads = 1}),
                            ViewedRun::Recorded("c", TwoRanks(), {.threads = 1})},
                           makers);
  EXPECT_TRUE(CompareRuns(view, {.a = 0, .b = 2}));
  EXPECT_FALSE(CompareRuns(view, {.a = 0, .b = 3}));
  EXPECT_EQ(DescribeSession(view, {}).value().runs.size(), 3U);
  // Made twice: the second takes the place of the first, and what was opened stays.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(PredictRun(view, {}).value().run, 3);
    EXPECT_EQ(DescribeSession(view, {}).value().runs.size(), 4U);
  }
  EXPECT_TRUE(ListRanks(view, {.run = 3}));
}

// As TwoRanks, 7 us later, with one all-reduce over 512 KB more, whose last rank comes after 30 us.
ingest::Run TwoOtherRanks() {
  ingest::Run run;
  for (const std::int32_t number : {0, 1}) {
    Rank rank(number);
    rank.Step(1, {7, 120});
    const RowId group = rank.Group("0", "[0, 1]", 2);
    rank.Collective({.span = {8, 9}, .group = group, .bytes = 1 << 19, .sequence = 1});
    rank.Collective({.span = {number == 0 ? 50 : 80, 100},
                     .group = group,
                     .bytes = 1 << 20,
                     .sequence = 2,
                     .stream = 7,
                     .correlation = rank.Call({15, 16})});
    run.set.ranks.push_back(rank.Finish());
  }
  return run;
}

TEST(TwoRuns, CollectivesThatAreInBothArePaired) {
  const View view = ViewOf({ViewedRun::Recorded("a", TwoRanks(), {.threads = 1}),
                            ViewedRun::Recorded("b", TwoOtherRanks(), {.threads = 1})});
  const Differences differences = CompareRuns(view, {}).value();
  EXPECT_EQ(differences.common_collectives, 1);
  EXPECT_EQ(differences.notice, "");
  // Steps begin both at 0 of their runs; the all-reduces at 40 and 50 - 7.
  EXPECT_THAT(differences.pairs, ElementsAre(Both{40'000, 43'000}));
  // Transfer from 60 and 80 to 90 and 100; rank 0 waits for 20 and 30.
  ASSERT_EQ(differences.collectives.size(), 1U);
  EXPECT_EQ(differences.collectives[0].transfer_ns, (Both{30'000, 20'000}));
  EXPECT_EQ(differences.collectives[0].wait_ns, (Both{20'000, 30'000}));
}

TEST_F(QuestionsTest, WrongQuestionsAreRefused) {
  EXPECT_EQ(ListRanks(view_, {.run = 1}).error().message(),
            "run must be a whole number from 0 to 0");
  EXPECT_FALSE(ListTracks(view_, {}));
  EXPECT_FALSE(MakeSliceTile(view_, {.rank = 2, .track = 0, .level = 8, .tile = 0}));
  EXPECT_FALSE(MakeSliceTile(view_, {.rank = 0, .track = 99, .level = 8, .tile = 0}));
  EXPECT_FALSE(MakeSliceTile(view_, {.rank = 0, .track = 0, .level = 60, .tile = 0}));
  EXPECT_FALSE(MakeSliceTile(view_, {.rank = 0, .track = 0, .level = 50, .tile = 9'999'999}));
  EXPECT_FALSE(DescribeSlice(view_, {.rank = 0, .track = 0, .row = 12'345}));
  EXPECT_FALSE(MakeActivityTile(view_, {.level = 8, .tile = 0, .count = 100'000}));
  EXPECT_FALSE(MakeActivityTile(view_, {.level = 8, .tile = 0, .count = 4, .fold = 0}));
  EXPECT_FALSE(MakeActivityTile(view_, {.level = 8, .tile = 0, .order = "size", .count = 4}));
  EXPECT_FALSE(FindSlices(view_, {}));
  EXPECT_FALSE(FindSlices(view_, {.text = "/(/"}));
  EXPECT_FALSE(MakeTab(view_, {.name = "nothing"}));
  EXPECT_FALSE(CompareRuns(view_, {}));
  EXPECT_FALSE(OpenPlan(view_, {.plan = 0}));
  EXPECT_FALSE(AnswerWhatIf(view_, {.changes = {{.subject = "weather"}}}));
  EXPECT_FALSE(AnswerWhatIf(view_, {.changes = {{.subject = "compute", .speedup = 0}}}));
  EXPECT_FALSE(AnswerWhatIf(view_, {.changes = {{.subject = "rank", .name = "99"}}}));
}

TEST_F(QuestionsTest, QuestionsAreAskedAsData) {
  const auto what_if = std::ranges::find(Questions(), std::string_view("what-if"), &Question::name);
  ASSERT_NE(what_if, Questions().end());
  const auto ask = [&](std::string_view text) {
    return what_if->ask(view_, ParseJson(text).value());
  };
  const AnyReply reply =
      ask(R"({"run": 0, "changes": [{"subject": "compute", "speedup": 2}]})").value();
  EXPECT_NE(reply.data.Find("after_ns"), nullptr);
  for (const char* const text :
       {"{}", "[]", R"({"changes": 1})", R"({"changes": [1]})", R"({"changes": [], "weather": 1})",
        R"({"changes": [{"subject": 1}]})"}) {
    EXPECT_FALSE(ask(text)) << text;
  }
}

}  // namespace
}  // namespace orrery::api::view
