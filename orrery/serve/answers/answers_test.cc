#include "orrery/serve/answers/answers.h"

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
#include "orrery/base/columns.h"
#include "orrery/base/document/json_value.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/activity.h"
#include "orrery/serve/tiles/activity_mipmap.h"
#include "orrery/serve/viewed_run.h"

namespace orrery::serve {
namespace {

using analyze::test_run::Rank;
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

class AnswersTest : public testing::Test {
 protected:
  AnswersTest()
      : answers_({ViewedRun::Recorded("two", TwoRanks(), {.threads = 1})}, {.version = "test"}) {}

  Response Get(const std::string& path, std::string_view query = "") {
    return answers_.Answer({.path = path, .query = *Query::Parse(query)});
  }

  Response Post(const std::string& path, std::string body) {
    return answers_.Answer({.path = path, .is_post = true, .body = std::move(body)});
  }

  Answers answers_;
};

template <typename T>
T At(const std::string& bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

TEST_F(AnswersTest, SessionNamesRunsAndClasses) {
  const Response response = Get("api/session");
  EXPECT_EQ(response.status, 200);
  JsonText text;
  const auto session = text.Parse(response.body);
  const auto run = ElementAt(Field(session, "runs"), 0);
  EXPECT_EQ(Text(Field(run, "kind")), "recorded");
  EXPECT_EQ(Integer(Field(run, "num_ranks")), 2);
  EXPECT_EQ(Integer(Field(run, "length_ns")), 100'000);
  EXPECT_EQ(ArraySize(Field(session, "classes")), kNumActivities);
}

TEST_F(AnswersTest, RanksAreOrderedByLateness) {
  const Response response = Get("api/ranks");
  JsonText text;
  const auto ranks = text.Parse(response.body);
  // Rank 1 arrives 20 us after rank 0.
  EXPECT_EQ(Integer(ElementAt(Field(ranks, "late_ns"), 0)), 0);
  EXPECT_EQ(Integer(ElementAt(Field(ranks, "late_ns"), 1)), 20'000);
}

TEST_F(AnswersTest, ActivityHasALineForEachRank) {
  // Bins of 256 ns: 512 of them are 131 us, so that one tile holds all.
  const Response response = Get("api/activity", "level=8&tile=0&count=64");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(At<std::uint32_t>(response.body, 0), 2U);
  const auto runs = At<std::uint32_t>(response.body, 4);
  // Each line begins before the GPU's work, then has the GEMM.
  const std::size_t classes = 8 + 4 * 3 + 2 * runs;
  EXPECT_EQ(At<std::uint8_t>(response.body, classes), kOutside);
  EXPECT_EQ(At<std::uint8_t>(response.body, classes + 1),
            static_cast<std::uint8_t>(Activity::kGemm));
  EXPECT_EQ(response.body.size(), classes + std::size_t{2} * runs);
}

TEST_F(AnswersTest, SlicesCarryNamesThatFit) {
  const Response response = Get("api/slices", "rank=0&track=1&level=8&tile=0");
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_THAT(response.body, HasSubstr("aten::mm"));
}

TEST_F(AnswersTest, ASliceSaysWhatIsKnown) {
  const std::string found = Get("api/find", "text=sm90").body;
  EXPECT_THAT(found, HasSubstr("\"total\": 2"));
  JsonText text;
  const auto hit = ElementAt(Field(text.Parse(found), "hits"), 0);
  const std::string query = "rank=" + std::to_string(*Integer(Field(hit, "rank"))) +
                            "&track=" + std::to_string(*Integer(Field(hit, "track"))) +
                            "&row=" + std::to_string(*Integer(Field(hit, "row")));
  const std::string slice = Get("api/slice", query).body;
  EXPECT_THAT(slice, HasSubstr("\"name\": \"sm90_gemm\""));
  EXPECT_THAT(slice, HasSubstr("\"class\": \"gemm\""));
  EXPECT_THAT(slice, HasSubstr("\"launch\": {"));
}

TEST_F(AnswersTest, RangeAddsUpWhatRanksDo) {
  // From 40 to 60 us rank 0 waits and rank 1 computes.
  const Response response = Get("api/range", "begin=40000&end=60000");
  JsonText text;
  const auto classes = Field(text.Parse(response.body), "classes");
  EXPECT_EQ(Integer(ElementAt(classes, static_cast<std::size_t>(Activity::kGemm))), 20'000);
  EXPECT_EQ(Integer(ElementAt(classes, static_cast<std::size_t>(Activity::kWait))), 20'000);
}

TEST_F(AnswersTest, CollectivesNameTheLastRank) {
  const Response response = Get("api/collectives");
  JsonText text;
  const auto instance = ElementAt(Field(text.Parse(response.body), "instances"), 0);
  EXPECT_EQ(Integer(Field(instance, "last_rank")), 1);
  EXPECT_EQ(Integer(Field(instance, "arrival_ns")), 60'000);
}

TEST_F(AnswersTest, WhatIfReplaysTheStep) {
  const Response response =
      Post("api/what-if",
           R"({"run": 0, "changes": [{"subject": "class", "name": "gemm", "speedup": 2}]})");
  ASSERT_EQ(response.status, 200) << response.body;
  JsonText text;
  const auto answer = text.Parse(response.body);
  // The GEMM of rank 1 is the longest: 50 becomes 25, that of rank 0 15; the step is 25 shorter.
  EXPECT_EQ(*Integer(Field(answer, "before_ns")) - *Integer(Field(answer, "after_ns")), 25'000);
}

std::size_t NumRuns(Answers& answers) {
  JsonText text;
  const Response response = answers.Answer({.path = "api/session"});
  return ArraySize(Field(text.Parse(response.body), "runs"));
}

TEST(ThreeRuns, AnyTwoAreComparedAndMadeOnesComeBehindThem) {
  ViewActions actions;
  actions.predict = [](const ViewedRun& /*run*/) -> Result<std::shared_ptr<ViewedRun>> {
    return ViewedRun::Recorded("made", TwoRanks(), {.threads = 1});
  };
  Answers answers({ViewedRun::Recorded("a", TwoRanks(), {.threads = 1}),
                   ViewedRun::Recorded("b", TwoRanks(), {.threads = 1}),
                   ViewedRun::Recorded("c", TwoRanks(), {.threads = 1})},
                  {.version = "test", .actions = actions});
  const auto get = [&](const std::string& path, std::string_view query) {
    return answers.Answer({.path = path, .query = *Query::Parse(query)}).status;
  };
  EXPECT_EQ(get("api/differences", "a=0&b=2"), 200);
  EXPECT_EQ(get("api/differences", "a=0&b=3"), 400);
  EXPECT_EQ(NumRuns(answers), 3U);
  // Made twice: the second takes the place of the first, and what was opened stays.
  for (int i = 0; i < 2; ++i) {
    const Response made = answers.Answer({.path = "api/predict", .is_post = true});
    EXPECT_THAT(made.body, HasSubstr("\"run\": 3"));
    EXPECT_EQ(NumRuns(answers), 4U);
  }
  EXPECT_EQ(get("api/ranks", "run=3"), 200);
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
  Answers answers({ViewedRun::Recorded("a", TwoRanks(), {.threads = 1}),
                   ViewedRun::Recorded("b", TwoOtherRanks(), {.threads = 1})},
                  {.version = "test"});
  const Response response = answers.Answer({.path = "api/differences"});
  ASSERT_EQ(response.status, 200) << response.body;
  JsonText text;
  const auto answer = text.Parse(response.body);
  EXPECT_EQ(Integer(Field(answer, "common_collectives")), 1);
  EXPECT_EQ(Text(Field(answer, "notice")), "");
  // Steps begin both at 0 of their runs; the all-reduces at 40 and 50 - 7.
  const auto pair = ElementAt(Field(answer, "pairs"), 0);
  EXPECT_EQ(Integer(ElementAt(pair, 0)), 40'000);
  EXPECT_EQ(Integer(ElementAt(pair, 1)), 43'000);
  // Transfer from 60 and 80 to 90 and 100; rank 0 waits for 20 and 30.
  const auto change = ElementAt(Field(answer, "collectives"), 0);
  EXPECT_EQ(Integer(ElementAt(Field(change, "transfer_ns"), 0)), 30'000);
  EXPECT_EQ(Integer(ElementAt(Field(change, "transfer_ns"), 1)), 20'000);
  EXPECT_EQ(Integer(ElementAt(Field(change, "wait_ns"), 0)), 20'000);
  EXPECT_EQ(Integer(ElementAt(Field(change, "wait_ns"), 1)), 30'000);
}

TEST_F(AnswersTest, WrongQuestionsAreRefused) {
  for (const auto& [path, query] : std::vector<std::pair<std::string, std::string>>{
           {"api/slices", "rank=2&track=0&level=8&tile=0"},
           {"api/slices", "rank=0&track=99&level=8&tile=0"},
           {"api/slices", "rank=0&track=0&level=60&tile=0"},
           {"api/slices", "rank=0&track=0&level=50&tile=9999999"},
           {"api/slice", "rank=0&track=0&row=12345"},
           {"api/activity", "level=8&tile=0&count=100000"},
           {"api/activity", "level=8&tile=0&count=4&fold=0"},
           {"api/activity", "level=8&tile=0&count=4&order=size"},
           {"api/find", "text="},
           {"api/find", "text=/(/"},
           {"api/session?", ""},
           {"api/tab", "name=nothing"},
           {"api/ranks", "run=1"},
           {"api/differences", ""},
           {"../secret", ""}}) {
    const Response response = Get(path, query);
    EXPECT_GE(response.status, 400) << path << "?" << query;
    EXPECT_LT(response.status, 500) << path << "?" << query;
  }
  for (const char* const body :
       {"", "{", "[]", R"({"run": 7})", R"({"run": 0, "changes": [{"subject": "weather"}]})",
        R"({"run": 0, "changes": [{"subject": "compute", "speedup": 0}]})",
        R"({"run": 0, "changes": [{"subject": "rank", "name": "99"}]})"}) {
    const Response response = Post("api/what-if", body);
    EXPECT_EQ(response.status / 100, 4) << body;
    EXPECT_EQ(Post("api/plan", body).status / 100, 4) << body;
  }
}

}  // namespace
}  // namespace orrery::serve
