#include "orrery/serve/http/server.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "orrery/serve/http/clients_test.h"
#include "orrery/serve/http/waiting_room.h"

namespace orrery::serve {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class ServerTest : public testing::Test {
 protected:
  ServerTest() {
    const auto log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    auto server = Server::Listen({.token = "secret", .log = log}, handler_);
    EXPECT_TRUE(server);
    server_ = *std::move(server);
    thread_ = std::thread([this] { server_->Run(); });
  }

  ~ServerTest() override {
    server_->Stop();
    thread_.join();
  }

  [[nodiscard]] httplib::Client NewClient() const {
    return httplib::Client("127.0.0.1", server_->port());
  }

  [[nodiscard]] std::string Host() const {
    return "Host: 127.0.0.1:" + std::to_string(server_->port()) + "\r\n";
  }

  [[nodiscard]] std::string Get(const std::string& path) const {
    return "GET /secret/" + path + " HTTP/1.1\r\n" + Host() + "\r\n";
  }

  /// The server's answer to bytes after which nothing follows.
  [[nodiscard]] std::string AnswerTo(const std::string& bytes) const {
    const RawClient client(server_->port());
    client.Send(bytes);
    client.SendEnd();
    return client.ReadAll();
  }

  [[nodiscard]] bool IsAlive() const {
    auto client = NewClient();
    const auto answer = client.Get("/secret/alive");
    return answer && answer->status == 200;
  }

  [[nodiscard]] std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  EchoHandler handler_;
  std::unique_ptr<Server> server_;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::thread thread_;
};

TEST_F(ServerTest, ItsAddressHasPortAndToken) {
  EXPECT_EQ(server_->address(), "http://127.0.0.1:" + std::to_string(server_->port()) + "/secret/");
}

TEST_F(ServerTest, RequestsReachTheHandler) {
  auto client = NewClient();
  const auto got = client.Get("/secret/api/session?run=0");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(got->body, R"({"path": "api/session", "body": ""})");
  EXPECT_EQ(got->get_header_value("Content-Type"), "application/json");
  const auto posted = client.Post("/secret/api/what-if", "[1]", "application/json");
  ASSERT_TRUE(posted);
  EXPECT_EQ(posted->body, R"({"path": "api/what-if", "body": "[1]"})");
  EXPECT_THAT(lines(), IsEmpty());
}

void ExpectSecurityFields(const httplib::Response& answer) {
  EXPECT_EQ(answer.get_header_value("Content-Security-Policy"),
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
            "connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
            "form-action 'none'");
  EXPECT_EQ(answer.get_header_value("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(answer.get_header_value("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(answer.get_header_value("Cross-Origin-Opener-Policy"), "same-origin");
  EXPECT_EQ(answer.get_header_value("Cross-Origin-Resource-Policy"), "same-origin");
  EXPECT_EQ(answer.get_header_value_count("Content-Type"), 1U);
  for (const auto& [name, value] : answer.headers) {
    EXPECT_NE(name, "Server");
    EXPECT_THAT(name, Not(StartsWith("Access-Control")));
  }
}

TEST_F(ServerTest, AllAnswersHaveTheSecurityFields) {
  auto client = NewClient();
  for (const char* path : {"/secret/", "/secret/throw", "/secret/missing", "/wrong/", "/%"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer) << path;
    ExpectSecurityFields(*answer);
    EXPECT_EQ(answer->get_header_value("Cache-Control"), "no-store") << path;
  }
  // Refused by the library.
  EXPECT_THAT(AnswerTo("nonsense\r\n\r\n"), HasSubstr("Content-Security-Policy"));
}

TEST_F(ServerTest, OnlyWhatSaysSoMayBeKept) {
  auto client = NewClient();
  const auto answer = client.Get("/secret/tile");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Cache-Control"), "private, max-age=60");
  EXPECT_EQ(answer->body, std::string("\0\1", 2));
}

TEST_F(ServerTest, AnswersAreNeitherPackedNorCut) {
  const std::string answer = AnswerTo("GET /secret/large HTTP/1.1\r\n" + Host() +
                                      "Accept-Encoding: gzip, br\r\nRange: bytes=0-1\r\n"
                                      "Connection: close\r\n\r\n");
  EXPECT_THAT(answer.substr(0, 100), StartsWith("HTTP/1.1 200"));
  EXPECT_GT(answer.size(), 8'000'000U);
}

TEST_F(ServerTest, RefusalsAreASentenceAndALineOfTheLog) {
  auto client = NewClient();
  const auto answer = client.Get("/guess/api/session");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 403);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(answer->body, "open the address that orrery view printed\n");
  EXPECT_THAT(lines(), testing::ElementsAre("refused GET /TOKEN/api/session of 127.0.0.1 with 403: "
                                            "open the address that orrery view printed"));
}

TEST_F(ServerTest, WhatTheHandlerRefusesIsLoggedWithoutTheToken) {
  auto client = NewClient();
  const auto answer = client.Get("/secret/missing?a=secret");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->body, "there is no such thing\n");
  EXPECT_THAT(lines(),
              testing::ElementsAre("refused GET /TOKEN/missing?a=TOKEN of 127.0.0.1 with 404: "
                                   "there is no such thing"));
}

TEST_F(ServerTest, AnExceptionIsStatus500) {
  auto client = NewClient();
  for (const char* path : {"/secret/throw", "/secret/throw-number"}) {
    const auto answer = client.Get(path);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 500);
    EXPECT_THAT(answer->body, Not(HasSubstr("problem")));
  }
  EXPECT_EQ(lines().at(0), "an answer failed: a\\nproblem");
  EXPECT_TRUE(IsAlive());
}

TEST_F(ServerTest, ForeignRequestsAreRefused) {
  auto client = NewClient();
  EXPECT_EQ(client.Get("/secret/", {{"Host", "evil.example"}})->status, 421);
  EXPECT_EQ(client.Get("/secret/", {{"Origin", "http://evil.example"}})->status, 403);
  EXPECT_EQ(client.Get("/secret/", {{"Sec-Fetch-Site", "cross-site"}})->status, 403);
  EXPECT_EQ(client.Options("/secret/")->status, 405);
  EXPECT_EQ(client.Options("/secret/")->get_header_value("Allow"), "GET, POST");
  EXPECT_EQ(client.Put("/secret/", "x", "text/plain")->status, 405);
  EXPECT_EQ(client.Head("/secret/")->status, 405);
  EXPECT_EQ(client.Get("/secret/../x")->status, 400);
  EXPECT_EQ(client.Get("/secret/?a=" + std::string(5'000, 'x'))->status, 414);
}

TEST_F(ServerTest, AKeptConnectionServesManyRequests) {
  auto client = NewClient();
  client.set_keep_alive(true);
  for (int i = 0; i < 200; ++i) {
    const auto answer = client.Get("/secret/x");
    ASSERT_TRUE(answer);
    ASSERT_EQ(answer->status, 200);
  }
  EXPECT_EQ(server_->num_connections(), 1);
}

TEST_F(ServerTest, MoreConnectionsThanAnswersAtOnceAreServed) {
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 20; ++i) {  // threads is 4
    idle.push_back(std::make_unique<RawClient>(server_->port()));
  }
  ASSERT_TRUE(Eventually([&] { return server_->num_connections() == 20; }));
  EXPECT_TRUE(IsAlive());
}

// Clients without the token take neither threads nor places to wait from those that have it.
TEST_F(ServerTest, SlowStrangersDelayNobody) {
  auto kept = NewClient();
  kept.set_keep_alive(true);
  ASSERT_EQ(kept.Get("/secret/x")->status, 200);
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (std::size_t i = 0; i < 2 * WaitingRoom::kMostStrangers; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server_->port()));
    strangers.back()->Send(i % 3 == 0   ? ""
                           : i % 3 == 1 ? Get("x").substr(0, 30)
                                        : "POST /wrong/ HTTP/1.1\r\nContent-Length: 9\r\n\r\n");
    ASSERT_TRUE(i % 50 != 0 || IsAlive()) << i;
  }
  ASSERT_EQ(kept.Get("/secret/x")->status, 200);
  EXPECT_TRUE(IsAlive());
  // All that wait, those that leave and the kept one.
  EXPECT_LE(server_->num_connections(),
            static_cast<int>(WaitingRoom::kMostStrangers + WaitingRoom::kMostLeaving + 2));
  EXPECT_THAT(lines(), testing::Contains(HasSubstr("too many wait")));
}

TEST_F(ServerTest, RequestsInOnePieceAreAnsweredInTurn) {
  const std::string answers = AnswerTo(Get("one") + Get("two") + Get("three"));
  const std::size_t one = answers.find("\"one\"");
  const std::size_t two = answers.find("\"two\"");
  const std::size_t three = answers.find("\"three\"");
  EXPECT_LT(one, two);
  EXPECT_LT(two, three);
  EXPECT_NE(three, std::string::npos);
}

TEST_F(ServerTest, ABodyThatIsNotReadIsNoRequest) {
  const std::string hidden = Get("hidden");
  const std::string length = "Content-Length: " + std::to_string(hidden.size()) + "\r\n\r\n";
  for (const std::string begin : {"POST /wrong/", "GET /secret/", "PUT /secret/"}) {
    const std::string answer =
        AnswerTo(fmt::format("{} HTTP/1.1\r\n{}{}{}", begin, Host(), length, hidden));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 4")) << begin;
    EXPECT_THAT(answer, Not(HasSubstr("hidden"))) << begin;
  }
}

TEST_F(ServerTest, BrokenRequestsGet4xxOrAClosedConnection) {
  const std::string post = "POST /secret/x HTTP/1.1\r\n" + Host();
  const std::string get = "GET /secret/x HTTP/1.1\r\n" + Host();
  const std::vector<std::string> requests = {
      "\r\n\r\n",
      "garbage\r\n\r\n",
      std::string("\0\1\2\xff\r\n\r\n", 8),
      "GET\r\n\r\n",
      "GET /secret/x\r\n\r\n",
      "GET /secret/x HTTP/9.9\r\n" + Host() + "\r\n",
      "BREW /secret/x HTTP/1.1\r\n" + Host() + "\r\n",
      "GET /secret/x HTTP/1.1\r\n\r\n",
      "GET http://127.0.0.1/secret/x HTTP/1.1\r\n" + Host() + "\r\n",
      get + Host() + "\r\n",
      get + "Range: bytes=" + std::string(7'000, '9') + "-\r\n\r\n",
      get + "Range: bytes=a-b\r\n\r\n",
      get + "X: " + std::string(9'000, 'x') + "\r\n\r\n",
      "GET /" + std::string(7'000, 'x') + " HTTP/1.1\r\n" + Host() + "\r\n",
      "GET /" + std::string(60'000, 'x') + " HTTP/1.1\r\n" + Host() + "\r\n",
      post + "\r\n{}",
      post + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\nabc",
      post + "Content-Length: -1\r\n\r\n{}",
      post + "Content-Length: 65537\r\n\r\n" + std::string(65'537, 'x'),
      post + "Content-Length: 2\r\nContent-Encoding: br\r\n\r\n{}",
      post + "Content-Length: 100\r\n\r\n{}",
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),  // TLS
  };
  for (const std::string& request : requests) {
    const std::string answer = AnswerTo(request);
    const std::string begin = request.substr(0, 100);
    EXPECT_TRUE(answer.empty() || answer.starts_with("HTTP/1.1 4")) << begin << "\n" << answer;
    EXPECT_TRUE(IsAlive()) << begin;
  }
}

TEST_F(ServerTest, ManyRangesCostNothing) {
  std::string ranges = "0-";
  while (ranges.size() < 8'000) {
    ranges += ",0-";
  }
  const std::string answer = AnswerTo("GET /secret/large HTTP/1.1\r\n" + Host() +
                                      "Range: bytes=" + ranges + "\r\nConnection: close\r\n\r\n");
  EXPECT_THAT(answer.substr(0, 100), StartsWith("HTTP/1.1 200"));
  EXPECT_LT(answer.size(), 8'100'000U);
  EXPECT_TRUE(IsAlive());
}

// 64 MB of one line, and of many: the server stops reading long before.
TEST_F(ServerTest, EndlessHeadsAreCutOff) {
  const std::string block(65'536, 'x');
  std::string fields;
  while (fields.size() < 65'536) {
    fields += "X: 1\r\n";
  }
  for (const std::string& piece : {block, fields}) {
    const RawClient client(server_->port());
    client.Send("GET /secret/x HTTP/1.1\r\n" + Host() + (piece == block ? "X: " : ""));
    int num_sent = 0;
    while (num_sent < 1'000 && client.Send(piece)) {
      ++num_sent;
    }
    // The buffers of the system on both sides take some, and the rest is discarded at the end.
    EXPECT_LT(num_sent, 1'000);
    EXPECT_TRUE(Eventually([&] { return server_->num_connections() == 0; }));
  }
  EXPECT_THAT(lines(), testing::Contains("refused a request that is too long").Times(2));
  EXPECT_TRUE(IsAlive());
}

TEST_F(ServerTest, ClientsThatGoAwayLeaveNothingBehind) {
  ASSERT_TRUE(IsAlive());
  ASSERT_TRUE(Eventually([&] { return server_->num_connections() == 0; }));
  const int num_files = NumOpenFiles();
  const std::string half = Get("x").substr(0, 30);
  for (int i = 0; i < 500; ++i) {
    const RawClient client(server_->port());
    client.Send(i % 3 == 0 ? "" : i % 3 == 1 ? half : Get("large"));
    // More than the system lets wait would be tried again after a second.
    ASSERT_TRUE(i % 50 != 0 || IsAlive());
  }
  EXPECT_TRUE(IsAlive());
  EXPECT_TRUE(Eventually([&] { return server_->num_connections() == 0; }));
  EXPECT_TRUE(Eventually([&] { return NumOpenFiles() == num_files; }));
}

TEST_F(ServerTest, APortInUseIsASentence) {
  const std::string port = std::to_string(server_->port());
  const auto second = Server::Listen({.port = server_->port()}, handler_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message(),
            "port " + port +
                " of 127.0.0.1 is in use; choose another with --port, or leave it out for a free "
                "one");
}

}  // namespace
}  // namespace orrery::serve
