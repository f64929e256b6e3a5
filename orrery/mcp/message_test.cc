#include "orrery/mcp/message.h"

#include <string>
#include <string_view>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/document/value.h"

namespace orrery::mcp {
namespace {

using testing::HasSubstr;

std::string Refusal(std::string_view line) {
  const auto message = ParseMessage(line);
  return message ? "" : ErrorLine(message.error());
}

TEST(MessageTest, RequestHasAnIdAndANotificationHasNone) {
  const auto request =
      ParseMessage(R"({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": 1}})");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->id, Value("a"));
  EXPECT_EQ(request->method, "ping");
  EXPECT_EQ(request->params, Value::Object().Set("x", 1));

  const auto notification = ParseMessage(R"({"jsonrpc": "2.0", "method": "notifications/x"})");
  ASSERT_TRUE(notification);
  EXPECT_FALSE(notification->id);
  EXPECT_EQ(notification->params, Value::Object());
}

TEST(MessageTest, ReplyIsAMessageWithoutMethodAndId) {
  const auto reply = ParseMessage(R"({"jsonrpc": "2.0", "id": 1, "result": {}})");
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->method.empty());
  EXPECT_FALSE(reply->id);
}

TEST(MessageTest, RefusesWhatIsNoMessageWithTheIdIfItHasOne) {
  EXPECT_EQ(Refusal("[]"),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message must be one )"
            R"(JSON object; batches are not supported"}})");
  EXPECT_THAT(Refusal("{"), HasSubstr("-32700"));
  EXPECT_THAT(Refusal(R"({"id": 7, "method": "ping"})"), HasSubstr(R"("id":7)"));
  EXPECT_THAT(Refusal(R"({"jsonrpc": "2.0", "id": 7})"), HasSubstr("-32600"));
  for (const char* const rest : {R"("id": null)", R"("id": 1.5)", R"("id": 1, "params": [])"}) {
    EXPECT_THAT(Refusal(fmt::format(R"({{"jsonrpc": "2.0", "method": "ping", {}}})", rest)),
                HasSubstr("-32600"));
  }
}

TEST(MessageTest, LinesHaveNoLineEnds) {
  EXPECT_EQ(ResultLine(1, Value::Object().Set("text", "a\nb")),
            R"({"jsonrpc":"2.0","id":1,"result":{"text":"a\nb"}})");
  EXPECT_EQ(NotificationLine("x", Value::Object()),
            R"({"jsonrpc":"2.0","method":"x","params":{}})");
}

}  // namespace
}  // namespace orrery::mcp
