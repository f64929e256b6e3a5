#include <atomic>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/serve/http/clients_test.h"
#include "orrery/serve/http/server.h"

namespace orrery::serve {
namespace {

// Of the block for documentation, RFC 5737: no machine has it.
TEST(ListenTest, AnAddressOfAnotherMachineIsASentence) {
  EchoHandler handler;
  const auto server = Server::Listen({.listen = "192.0.2.1"}, handler);
  ASSERT_FALSE(server);
  EXPECT_EQ(server.error().message(), "192.0.2.1 is not an address of this machine");
}

TEST(ListenTest, OptionsThatAreNoneAreRefused) {
  EchoHandler handler;
  EXPECT_FALSE(Server::Listen({.listen = "no such name"}, handler));
  EXPECT_FALSE(Server::Listen({.port = 65'536}, handler));
  EXPECT_FALSE(Server::Listen({.port = -1}, handler));
  EXPECT_FALSE(Server::Listen({.token = "a/b"}, handler));
}

TEST(ListenTest, ATokenIsMadeWhereNoneIsGiven) {
  EchoHandler handler;
  const auto server = Server::Listen({}, handler);
  ASSERT_TRUE(server);
  EXPECT_THAT((*server)->address(), testing::MatchesRegex("http://127.0.0.1:[0-9]+/[0-9a-f]+/"));
}

TEST(ListenTest, AServerThatNeverRanGivesItsPortBack) {
  EchoHandler handler;
  const int num_files = NumOpenFiles();
  auto first = Server::Listen({}, handler);
  ASSERT_TRUE(first);
  const int port = (*first)->port();
  first->reset();
  EXPECT_EQ(NumOpenFiles(), num_files);
  EXPECT_TRUE(Server::Listen({.port = port}, handler));
}

TEST(ListenTest, AStopBeforeRunCounts) {
  EchoHandler handler;
  auto server = Server::Listen({}, handler);
  ASSERT_TRUE(server);
  (*server)->Stop();
  (*server)->Run();
}

// Whatever the order in which the two threads get there.
TEST(ListenTest, AStopDuringTheBeginOfRunCounts) {
  for (int i = 0; i < 20; ++i) {
    EchoHandler handler;
    auto server = Server::Listen({}, handler);
    ASSERT_TRUE(server);
    std::thread runs([&] { (*server)->Run(); });
    (*server)->Stop();
    (*server)->Stop();
    runs.join();
  }
}

// Otherwise it would end, after ten seconds, as one that takes too long, which is logged.
TEST(ListenTest, HalfARequestDoesNotDelayAStop) {
  EchoHandler handler;
  std::atomic<int> num_lines = 0;
  auto server = Server::Listen({.log = [&](const std::string&) { ++num_lines; }}, handler);
  ASSERT_TRUE(server);
  std::thread runs([&] { (*server)->Run(); });
  const RawClient half((*server)->port());
  half.Send("GET /");
  EXPECT_TRUE(Eventually([&] { return (*server)->num_connections() == 1; }));
  (*server)->Stop();
  runs.join();
  EXPECT_EQ(half.ReadAll(), "");
  EXPECT_EQ(num_lines, 0);
}

}  // namespace
}  // namespace orrery::serve
