#include "orrery/serve/answers.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/api/session.h"
#include "orrery/api/view.h"
#include "orrery/serve/http/request.h"
#include "test_paths.h"

namespace orrery::serve {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class AnswersTest : public testing::Test {
 protected:
  Response Get(const std::string& path, std::string_view query = "") {
    return answers_.Answer({.path = path, .query = *Query::Parse(query)});
  }

  Response Post(const std::string& path, std::string body) {
    return answers_.Answer({.path = path, .is_post = true, .body = std::move(body)});
  }

  api::Session session_;
  api::View view_ =
      api::OpenView(session_, {.paths = {ORRERY_TEST_DATA "/kineto/two_ranks"}}).value();
  Answers answers_{view_, {{"view.js", "text/javascript", "let page;"}}};
};

TEST_F(AnswersTest, FilesOfThePageLieBesideTheQuestions) {
  EXPECT_EQ(Get("view.js").body, "let page;");
  EXPECT_EQ(Get("view.js").type, "text/javascript");
}

TEST_F(AnswersTest, AnAddressIsAQuestionWithItsFields) {
  const Response ranks = Get("api/ranks", "run=0");
  EXPECT_EQ(ranks.status, 200);
  EXPECT_EQ(ranks.type, "application/json");
  EXPECT_THAT(ranks.body, HasSubstr("\"rank 1\""));
  EXPECT_THAT(Get("api/find", "text=gemm&most=1&from=0").body, HasSubstr("\"hits\": ["));
  // A text that looks like a number.
  EXPECT_EQ(Get("api/find", "text=1").status, 200);
}

TEST_F(AnswersTest, ColumnsAreBytes) {
  const Response tile = Get("api/activity", "level=20&tile=0&count=64");
  EXPECT_EQ(tile.status, 200);
  EXPECT_EQ(tile.type, "application/octet-stream");
  EXPECT_THAT(tile.body, StartsWith(std::string_view("\2\0\0\0", 4)));  // lines
}

TEST_F(AnswersTest, ABodyIsAQuestionToo) {
  const Response answer =
      Post("api/what-if",
           R"({"run": 0, "changes": [{"subject": "compute", "name": "", "speedup": 2}]})");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, HasSubstr("\"after_ns\""));
  EXPECT_THAT(Get("api/what-if").body, HasSubstr("wants POST"));
}

TEST_F(AnswersTest, WrongQuestionsAreRefused) {
  for (const auto& [path, query] : std::vector<std::pair<std::string, std::string>>{
           {"api/slices", "rank=2&track=0&level=8&tile=0"},
           {"api/slices", "rank=0&track=0&level=x&tile=0"},
           {"api/activity", "level=8&tile=0"},
           {"api/activity", "level=8&tile=0&count=4&order=size"},
           {"api/find", "text="},
           {"api/session?", ""},
           {"api", ""},
           {"session", ""},
           {"api/tab", "name=nothing"},
           {"api/ranks", "run=1"},
           {"api/differences", ""},
           {"api/export", ""},
           {"../secret", ""}}) {
    EXPECT_EQ(Get(path, query).status / 100, 4) << path << "?" << query;
  }
  for (const char* const body :
       {"", "{", "[]", R"({"run": 7})", R"({"run": 0, "changes": [{"subject": "weather"}]})"}) {
    for (const char* const path : {"api/what-if", "api/plan"}) {
      EXPECT_EQ(Post(path, body).status / 100, 4) << path << " " << body;
    }
  }
}

TEST_F(AnswersTest, AnOverviewHasTheTilesOfTheLevelsThatItShows) {
  const auto addresses = answers_.OverviewAddresses().value();
  for (const std::string& address : addresses) {
    const std::size_t mark = address.find('?');
    const std::string query = mark == std::string::npos ? "" : address.substr(mark + 1);
    EXPECT_EQ(Get(address.substr(0, mark), query).status, 200) << address;
  }
  EXPECT_THAT(addresses, testing::Contains("api/tracks?run=0&rank=0"));
}

}  // namespace
}  // namespace orrery::serve
