#include "orrery/mcp/server.h"

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/api/any_verb.h"
#include "orrery/api/call.h"
#include "orrery/api/fields.h"
#include "orrery/api/session.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/mcp/folders.h"
#include "orrery/mcp/tool.h"
#include "orrery/report/document.h"

namespace orrery::mcp {

struct DoubleRequest {
  std::string job_yaml = {};
  int number = 1;
  bool is_endless = false;
  bool fails = false;
  api::CallOptions call = {};
};

struct DoubleResult {
  int twice = 0;
};

}  // namespace orrery::mcp

namespace orrery::api {

template <>
struct FieldList<mcp::DoubleRequest> {
  static std::span<const Field<mcp::DoubleRequest>> Get() {
    using Request = mcp::DoubleRequest;
    static constexpr auto kFields = std::to_array<Field<Request>>({
        MakeField<&Request::job_yaml>("job_yaml", "", "a job"),
        MakeField<&Request::number>("number", "", "a number").Range(1, 9),
        MakeField<&Request::is_endless>("endless", "", "run until the call is cancelled"),
        MakeField<&Request::fails>("fails", "", "fail"),
    });
    return kFields;
  }
};

template <>
struct FieldList<mcp::DoubleResult> {
  static std::span<const Field<mcp::DoubleResult>> Get() {
    static constexpr auto kFields = std::to_array<Field<mcp::DoubleResult>>(
        {MakeField<&mcp::DoubleResult::twice>("twice", "", "twice the number")});
    return kFields;
  }
};

}  // namespace orrery::api

namespace orrery::mcp {

report::Document MakeDocument(const DoubleResult& result) {
  report::Document document{.kind = "doubled"};
  document.AddSection().Say(fmt::format("twice: {}", result.twice));
  return document;
}

Result<DoubleResult> Double(const api::Session& /*session*/, const DoubleRequest& request) {
  request.call.Report("doubling");
  while (request.is_endless && !*request.call.stop) {
    std::this_thread::yield();
  }
  if (request.fails) {
    return Invalid("numbers are out");
  }
  return DoubleResult{.twice = 2 * request.number};
}

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Sends messages and returns the lines that came back.
std::vector<std::string> Talk(const std::vector<std::string>& messages) {
  std::vector<std::string> replies;
  Server server(
      {{.name = "double", .description = "Doubles.", .verb = api::MakeVerb("double", &Double)}},
      *Folders::Open({"."}, ""), "1.2.3",
      [&](const std::string& line) { replies.push_back(line); });
  for (const std::string& message : messages) {
    server.Receive(message);
  }
  server.Finish();
  return replies;
}

std::string Request(int id, std::string_view method, std::string_view params) {
  return fmt::format(R"({{"jsonrpc": "2.0", "id": {}, "method": "{}", "params": {}}})", id, method,
                     params);
}

std::string CallOf(int id, std::string_view arguments) {
  return Request(id, "tools/call",
                 fmt::format(R"({{"name": "double", "arguments": {}}})", arguments));
}

TEST(ServerTest, AnswersInTheVersionThatIsAskedForIfItIsKnown) {
  EXPECT_THAT(Talk({Request(1, "initialize", R"({"protocolVersion": "2024-11-05"})")}),
              ElementsAre(AllOf(HasSubstr(R"("protocolVersion":"2024-11-05")"),
                                HasSubstr(R"("version":"1.2.3")"))));
  EXPECT_THAT(Talk({Request(1, "initialize", R"({"protocolVersion": "1999-01-01"})")}),
              ElementsAre(HasSubstr(R"("protocolVersion":"2025-11-25")")));
}

TEST(ServerTest, ListsToolsWithTheirSchemas) {
  EXPECT_THAT(
      Talk({Request(1, "tools/list", "{}")}),
      ElementsAre(AllOf(HasSubstr(R"("name":"double")"), HasSubstr(R"("minimum":1,"maximum":9)"),
                        HasSubstr(R"("twice":{"type":"integer","description":"twice the number"})"),
                        HasSubstr(R"("readOnlyHint":true)"))));
}

TEST(ServerTest, CallGivesTextAndData) {
  EXPECT_THAT(Talk({CallOf(3, R"({"number": 4})")}),
              ElementsAre(R"({"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":)"
                          R"("twice: 8\n"}],"isError":false,"structuredContent":{"twice":8}}})"));
}

TEST(ServerTest, MistakesInArgumentsAreResultsThatTheModelSees) {
  EXPECT_THAT(Talk({CallOf(1, R"({"number": 10})"), CallOf(2, R"({"numbr": 1})"),
                    CallOf(3, R"({"fails": true})"), CallOf(4, R"({"page": "x.html"})"),
                    CallOf(5, R"({"job_yaml": "model: /etc/passwd"})")}),
              ElementsAre(HasSubstr("number: 10 is not between 1 and 9\"}],\"isError\":true"),
                          HasSubstr("there is no property 'numbr'; did you mean 'number'?"),
                          HasSubstr("numbers are out"), HasSubstr("nothing may be written"),
                          HasSubstr("outside the folders")));
}

TEST(ServerTest, MistakesInMessagesAreErrors) {
  EXPECT_THAT(Talk({Request(1, "tools/call", R"({"name": "dubble"})"),
                    Request(2, "tools/call", R"({"name": "double", "arguments": 1})"),
                    Request(3, "resources/list", "{}"), "x"}),
              ElementsAre(HasSubstr("-32602,\"message\":\"there is no tool 'dubble'; did you "
                                    "mean 'double'?"),
                          HasSubstr("-32602"), HasSubstr("-32601"), HasSubstr("-32700")));
}

TEST(ServerTest, ProgressGoesToItsToken) {
  EXPECT_THAT(
      Talk({Request(1, "tools/call", R"({"name": "double", "_meta": {"progressToken": 7}})")}),
      ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/progress","params":)"
                  R"({"progressToken":7,"progress":1,"message":"doubling"}})",
                  HasSubstr(R"("twice":2)")));
}

TEST(ServerTest, PingsAreAnsweredWhileACallRunsAndCancelledCallsAreNot) {
  EXPECT_THAT(
      Talk(
          {CallOf(1, R"({"endless": true})"), CallOf(2, R"({"endless": true})"),
           Request(3, "ping", "{}"),
           R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})",
           R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})"}),
      ElementsAre(R"({"jsonrpc":"2.0","id":3,"result":{}})"));
}

TEST(ServerTest, NotificationsAndRepliesAreNotAnswered) {
  EXPECT_THAT(Talk({R"({"jsonrpc": "2.0", "method": "notifications/initialized"})",
                    R"({"jsonrpc": "2.0", "method": "notifications/unknown", "params": {}})",
                    R"({"jsonrpc": "2.0", "id": 1, "result": {}})", "", " \r"}),
              IsEmpty());
}

TEST(ServerTest, RefusesALongMessage) {
  EXPECT_THAT(Talk({std::string(kLongestMessage + 1, 'x')}),
              ElementsAre(HasSubstr("longer than 4194304 bytes")));
}

}  // namespace
}  // namespace orrery::mcp
