#include "orrery/serve/http/gate.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/serve/http/listen_address.h"

namespace orrery::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kToken = "0123456789abcdef0123456789abcdef";
constexpr HeaderField kHost = {"Host", "127.0.0.1:8787"};

Gate OnLoopback() {
  return {std::string(kToken), "127.0.0.1", 8787};
}

std::string Target(std::string_view rest) {
  return "/" + std::string(kToken) + std::string(rest);
}

/// The status with which a request is refused; 200 where it is not.
int StatusOf(const Gate& gate, std::string_view method, std::string_view target,
             const std::vector<HeaderField>& fields) {
  const auto admitted = gate.Admit({method, target, fields});
  return admitted ? 200 : admitted.error().status;
}

int StatusOfPath(std::string_view path) {
  return StatusOf(OnLoopback(), "GET", path, {kHost});
}

int StatusOfHost(const Gate& gate, std::string_view host) {
  return StatusOf(gate, "GET", Target("/"), {{"Host", host}});
}

int StatusWith(std::vector<HeaderField> fields) {
  fields.push_back(kHost);
  return StatusOf(OnLoopback(), "GET", Target("/"), fields);
}

int StatusOfPost(std::vector<HeaderField> fields) {
  fields.push_back(kHost);
  return StatusOf(OnLoopback(), "POST", Target("/api/what-if"), fields);
}

TEST(GateTest, ARequestWithTheTokenPasses) {
  const std::vector<HeaderField> fields = {kHost};
  const auto admitted = OnLoopback().Admit({"GET", Target("/api/slices?run=1"), fields});
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->path, "api/slices");
  EXPECT_FALSE(admitted->is_post);
  EXPECT_EQ(admitted->query.Number("run").value(), 1);
}

TEST(GateTest, ThePageItselfHasAnEmptyPath) {
  const std::vector<HeaderField> fields = {kHost};
  const auto admitted = OnLoopback().Admit({"GET", Target("/?"), fields});
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->path, "");
}

TEST(GateTest, OtherTokensAreRefused) {
  EXPECT_EQ(StatusOfPath("/"), 403);
  EXPECT_EQ(StatusOfPath("/api/session"), 403);
  EXPECT_EQ(StatusOfPath("/0123456789abcdef0123456789abcdee/"), 403);
  EXPECT_EQ(StatusOfPath("/0123456789abcdef0123456789abcde/"), 403);
  EXPECT_EQ(StatusOfPath("/0123456789abcdef0123456789abcdef0/"), 403);
  EXPECT_EQ(StatusOfPath("/0123456789ABCDEF0123456789ABCDEF/"), 403);
  EXPECT_EQ(StatusOfPath("/x" + Target("/")), 403);
  EXPECT_EQ(StatusOfPath("/?token=" + std::string(kToken)), 403);
}

// A guess must not learn which part of it is right.
TEST(GateTest, AllWrongTokensGetTheSameSentence) {
  const std::vector<HeaderField> fields = {kHost};
  const auto near = OnLoopback().Admit({"GET", "/0123456789abcdef0123456789abcdee/", fields});
  const auto far = OnLoopback().Admit({"GET", "/x/api/nothing", fields});
  EXPECT_EQ(near.error().sentence, far.error().sentence);
}

TEST(GateTest, TheTokenAloneIsAskedForItsSlash) {
  EXPECT_EQ(StatusOfPath(Target("")), 404);
}

TEST(GateTest, OnlyTheAddressThatIsListenedOnMayBeTheHost) {
  const Gate gate = OnLoopback();
  EXPECT_EQ(StatusOfHost(gate, "127.0.0.1:8787"), 200);
  EXPECT_EQ(StatusOfHost(gate, "localhost:8787"), 200);
  EXPECT_EQ(StatusOfHost(gate, "LocalHost:8787"), 200);
  for (const char* host :
       {"", "127.0.0.1", "127.0.0.1:8788", "localhost", "evil.example:8787", "10.0.0.1:8787",
        "localhost.evil.example:8787", "127.0.0.1:8787.evil.example", " 127.0.0.1:8787",
        "[::1]:8787", "127.1:8787"}) {
    EXPECT_EQ(StatusOfHost(gate, host), 421) << host;
  }
}

TEST(GateTest, AMissingOrRepeatedHostIsRefused) {
  EXPECT_EQ(StatusOf(OnLoopback(), "GET", Target("/"), {}), 421);
  EXPECT_EQ(StatusWith({kHost}), 421);
  EXPECT_EQ(StatusWith({{"host", "evil.example"}}), 421);
}

TEST(GateTest, AnotherAddressThatIsListenedOnMayBeTheHost) {
  const Gate gate(std::string(kToken), "10.0.0.1", 8787);
  EXPECT_EQ(StatusOfHost(gate, "10.0.0.1:8787"), 200);
  EXPECT_EQ(StatusOfHost(gate, "localhost:8787"), 200);
  EXPECT_EQ(StatusOfHost(gate, "10.0.0.2:8787"), 421);
  EXPECT_EQ(StatusOfHost({std::string(kToken), "::1", 8787}, "[::1]:8787"), 200);
}

// Rebinding needs a name: an address of the machine cannot be another site's.
TEST(GateTest, WhereAllAddressesAreListenedOnAnyAddressMayBeTheHost) {
  for (const char* all : {"0.0.0.0", "::"}) {
    const Gate gate(std::string(kToken), all, 8787);
    EXPECT_EQ(StatusOfHost(gate, "192.168.1.7:8787"), 200);
    EXPECT_EQ(StatusOfHost(gate, "[fe80::1]:8787"), 200);
    EXPECT_EQ(StatusOfHost(gate, "evil.example:8787"), 421);
    EXPECT_EQ(StatusOfHost(gate, "192.168.1.7:80"), 421);
    EXPECT_EQ(StatusOfHost(gate, ":8787"), 421);
  }
}

TEST(GateTest, ThePortOfHttpIsLeftOutByBrowsers) {
  const Gate gate(std::string(kToken), "127.0.0.1", 80);
  EXPECT_EQ(StatusOfHost(gate, "localhost"), 200);
  EXPECT_EQ(StatusOfHost(gate, "127.0.0.1:80"), 200);
  EXPECT_EQ(StatusOfHost(gate, "evil.example"), 421);
}

TEST(GateTest, RequestsOfOtherSitesAreRefused) {
  EXPECT_EQ(StatusWith({{"Sec-Fetch-Site", "same-origin"}}), 200);
  EXPECT_EQ(StatusWith({{"Sec-Fetch-Site", "none"}}), 200);
  EXPECT_EQ(StatusWith({{"sec-fetch-site", "cross-site"}}), 403);
  EXPECT_EQ(StatusWith({{"Sec-Fetch-Site", "same-site"}}), 403);
  EXPECT_EQ(StatusWith({{"Sec-Fetch-Site", ""}}), 403);
  EXPECT_EQ(StatusWith({{"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "cross-site"}}), 403);
}

TEST(GateTest, TheOriginMustBeOurs) {
  EXPECT_EQ(StatusWith({{"Origin", "http://127.0.0.1:8787"}}), 200);
  EXPECT_EQ(StatusWith({{"Origin", "http://localhost:8787"}}), 403);  // not the Host
  EXPECT_EQ(StatusWith({{"Origin", "https://127.0.0.1:8787"}}), 403);
  EXPECT_EQ(StatusWith({{"Origin", "http://evil.example"}}), 403);
  EXPECT_EQ(StatusWith({{"Origin", ""}}), 403);
  EXPECT_EQ(StatusWith({{"Origin", "null"}}), 403);
  EXPECT_EQ(StatusWith({{"Origin", "null"}, {"Sec-Fetch-Site", "same-origin"}}), 200);
}

TEST(GateTest, OtherMethodsAreRefused) {
  for (const char* method : {"HEAD", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", ""}) {
    EXPECT_EQ(StatusOf(OnLoopback(), method, Target("/"), {kHost}), 405) << method;
  }
}

TEST(GateTest, LongAddressesAreRefused) {
  const std::string begin = Target("/?text=");
  const std::string longest = begin + std::string(kMostTargetBytes - begin.size(), 'x');
  EXPECT_EQ(StatusOfPath(longest), 200);
  EXPECT_EQ(StatusOfPath(longest + "x"), 414);
  EXPECT_EQ(StatusOfPath(Target("/") + std::string(kMostPathBytes, 'x')), 400);
}

TEST(GateTest, ManyFieldsAreRefused) {
  const std::vector<HeaderField> most(kMostHeaderFields - 1, {"X-Nothing", "1"});
  EXPECT_EQ(StatusWith(most), 200);
  EXPECT_EQ(StatusWith(std::vector<HeaderField>(kMostHeaderFields, {"X-Nothing", "1"})), 431);
}

TEST(GateTest, PathsThatLeadElsewhereAreRefused) {
  for (const char* path :
       {"/../etc/passwd", "/api/..", "/a..b", "/%2e%2e/x", "/a%2fb", "/a%2Fb", "/a%5cb", "/a\\b",
        "/a%00", "//a", "/a//b", "/a b", "/a;b", "/\x01", "/\xc3\xbc", "/a%20b"}) {
    EXPECT_EQ(StatusOfPath(Target(path)), 400) << path;
  }
  EXPECT_EQ(StatusOfPath(Target("/") + std::string(1, '\0')), 400);
  EXPECT_EQ(StatusOfPath("http://127.0.0.1:8787" + Target("/")), 400);
  EXPECT_EQ(StatusOfPath("*"), 400);
  EXPECT_EQ(StatusOfPath(""), 400);
}

TEST(GateTest, ABrokenQueryIsRefused) {
  EXPECT_EQ(StatusOfPath(Target("/?a=%zz")), 400);
  EXPECT_EQ(StatusOfPath(Target("/?a=1?b=2")), 200);
  EXPECT_EQ(StatusOfPath(Target("/?a=%00")), 400);
}

TEST(GateTest, ABodyHasALengthWithinTheLimit) {
  EXPECT_EQ(StatusOfPost({{"Content-Length", "0"}}), 200);
  EXPECT_EQ(StatusOfPost({{"Content-Length", "65536"}}), 200);
  EXPECT_EQ(StatusOfPost({{"Content-Length", "65537"}}), 413);
  EXPECT_EQ(StatusOfPost({{"Content-Length", "99999999999999999999999"}}), 413);
  EXPECT_EQ(StatusOfPost({}), 411);
}

TEST(GateTest, LengthsThatProgramsReadDifferentlyAreRefused) {
  for (const char* length : {"", "-1", "+5", " 5", "5 ", "0x5", "5,5", "1e3"}) {
    EXPECT_EQ(StatusOfPost({{"Content-Length", length}}), 400) << length;
  }
  EXPECT_EQ(StatusOfPost({{"Content-Length", "5"}, {"content-length", "5"}}), 400);
  EXPECT_EQ(StatusOfPost({{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}}), 411);
}

TEST(GateTest, BodiesThatMustBeUnpackedAreRefused) {
  const HeaderField length = {"Content-Length", "5"};
  EXPECT_EQ(StatusOfPost({length, {"Content-Encoding", "br"}}), 415);
  EXPECT_EQ(StatusOfPost({length, {"Content-Type", "Multipart/form-data; boundary=x"}}), 415);
  EXPECT_EQ(StatusOfPost({length, {"Content-Type", "application/x-www-form-urlencoded"}}), 415);
  EXPECT_EQ(StatusOfPost({length, {"Content-Type", "application/json"}}), 200);
}

TEST(GateTest, AGetHasNoBody) {
  EXPECT_EQ(StatusWith({{"Content-Length", "0"}}), 200);
  EXPECT_EQ(StatusWith({{"Content-Length", "1"}}), 400);
  EXPECT_EQ(StatusWith({{"Transfer-Encoding", "chunked"}}), 411);
}

std::string LineFor(std::string_view method, std::string_view target, std::string_view sentence) {
  const RawRequest raw = {method, target, {}};
  return OnLoopback().LogLine(raw, "127.0.0.1", {403, std::string(sentence)});
}

TEST(GateTest, ARefusalIsOneLine) {
  EXPECT_EQ(LineFor("GET", "/guess/api/session?run=0", "no"),
            "refused GET /TOKEN/api/session?run=0 of 127.0.0.1 with 403: no");
  EXPECT_EQ(LineFor("", "", ""), "refused  /TOKEN of 127.0.0.1 with 403: ");
}

TEST(GateTest, TheTokenIsNotInTheLog) {
  const std::string token(kToken);
  EXPECT_THAT(LineFor("GET", Target("/x"), "no"), Not(HasSubstr(token)));
  EXPECT_THAT(LineFor("GET", "/x/?a=" + token + "&b=" + token, token), Not(HasSubstr(token)));
  // Cut where a token begins.
  const std::string cut = LineFor("GET", "/x/" + std::string(180, 'a') + token, "no");
  EXPECT_THAT(cut, Not(HasSubstr(token.substr(0, 8))));
}

// A tab is written as \t.
TEST(GateTest, AnEscapeThatCompletesTheTokenIsNotInTheLog) {
  EXPECT_EQ(Gate("token", "127.0.0.1", 8787).Redacted("a\token"), "a\\TOKEN");
}

TEST(GateTest, WhatWouldActOnATerminalIsEscaped) {
  EXPECT_EQ(LineFor("G\x1b[2J", "/x/\r\n\ta\xff", "a\nb"),
            R"(refused G\u001b[2J /TOKEN/\u000d\n\ta\xff of 127.0.0.1 with 403: a\nb)");
}

TEST(GateTest, LongTargetsAreCutInTheLog) {
  EXPECT_LT(LineFor("GET", "/x/" + std::string(9'000, 'a'), "no").size(), 300U);
}

TEST(TokenTest, TokensAre128RandomBits) {
  const auto one = RandomToken();
  const auto other = RandomToken();
  ASSERT_TRUE(one && other);
  EXPECT_THAT(*one, testing::MatchesRegex("[0-9a-f]+"));
  EXPECT_EQ(one->size(), 32U);
  EXPECT_NE(*one, *other);
}

TEST(TokenTest, SecretsAreTheSameOnlyIfEqual) {
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abd", "abc"));
  EXPECT_FALSE(SameSecret("xbc", "abc"));
  EXPECT_FALSE(SameSecret("abcabc", "abc"));  // the shorter one is repeated to be compared
  EXPECT_FALSE(SameSecret("ab", "abc"));
  EXPECT_FALSE(SameSecret("", "abc"));
  EXPECT_FALSE(SameSecret("abc", ""));
}

TEST(ListenAddressTest, OnlyAddressesAndLocalhostAreTaken) {
  EXPECT_EQ(ListenAddress("localhost").value_or(""), "127.0.0.1");
  EXPECT_EQ(ListenAddress("::1").value_or(""), "::1");
  EXPECT_EQ(ListenAddress("0.0.0.0").value_or(""), "0.0.0.0");
  for (const char* listen : {"", "example.org", "127.0.0.1:80", "300.0.0.1", "127.0.0.1/8"}) {
    EXPECT_FALSE(ListenAddress(listen)) << listen;
  }
  EXPECT_EQ(ListenAddress("a\n").error().message(),
            "\"a\n\" is not an IP address; give one of this machine, such as 127.0.0.1");
}

}  // namespace
}  // namespace orrery::serve
