#include "orrery/serve/http/connection.h"

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace orrery::serve {
namespace {

using std::chrono::milliseconds;
using End = Connection::End;

/// Limits that no test reaches unless it sets them.
ConnectionLimits Patient() {
  return {.request_time = milliseconds(60'000), .idle_time = milliseconds(60'000)};
}

class ConnectionTest : public testing::Test {
 protected:
  ~ConnectionTest() override {
    HangUp();
    connection_.reset();
    close(stop_event_);
  }

  void Open(const ConnectionLimits& limits) {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    peer_ = ends[0];
    connection_ = std::make_unique<Connection>(ends[1], stop_event_, limits);
  }

  void Send(std::string_view text) const {
    EXPECT_EQ(send(peer_, text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  }

  void HangUp() {
    if (peer_ >= 0) {
      close(peer_);
    }
    peer_ = -1;
  }

  void Stop() const { eventfd_write(stop_event_, 1); }

  /// Reads until a limit or the end, or `most` bytes.
  std::string Read(std::size_t most) {
    std::string all;
    char byte = 0;
    while (all.size() < most && connection_->Read(&byte, 1) == 1) {
      all += byte;
    }
    return all;
  }

  std::unique_ptr<Connection> connection_;

 private:
  int stop_event_ = eventfd(0, EFD_CLOEXEC);
  int peer_ = -1;
};

TEST_F(ConnectionTest, BytesAreReadUntilThePeerHangsUp) {
  Open(Patient());
  Send("abc");
  ASSERT_TRUE(connection_->WaitForRequest());
  HangUp();
  EXPECT_EQ(Read(10), "abc");
  EXPECT_EQ(connection_->end(), End::kClosed);
  EXPECT_FALSE(connection_->WaitForRequest());
}

TEST_F(ConnectionTest, APeerThatSaysNothingIsNoRequest) {
  Open(Patient());
  HangUp();
  EXPECT_FALSE(connection_->WaitForRequest());
  EXPECT_EQ(connection_->end(), End::kClosed);
}

// Each request has 4 bytes; the second is in the buffer already.
TEST_F(ConnectionTest, EveryRequestHasItsOwnLimit) {
  ConnectionLimits limits = Patient();
  limits.request_bytes = 4;
  Open(limits);
  Send("aaaabbbbb");
  ASSERT_TRUE(connection_->WaitForRequest());
  EXPECT_EQ(Read(4), "aaaa");
  ASSERT_TRUE(connection_->WaitForRequest());
  EXPECT_EQ(Read(5), "bbbb");
  EXPECT_EQ(connection_->end(), End::kTooLong);
  EXPECT_EQ(Read(1), "");
  EXPECT_FALSE(connection_->WaitForRequest());
}

TEST_F(ConnectionTest, HalfARequestIsNotWaitedForLonger) {
  ConnectionLimits limits = Patient();
  limits.request_time = milliseconds(1);
  Open(limits);
  Send("ab");
  ASSERT_TRUE(connection_->WaitForRequest());
  EXPECT_EQ(Read(3), "ab");
  EXPECT_EQ(connection_->end(), End::kTooSlow);
}

TEST_F(ConnectionTest, AnIdleConnectionEndsWithoutComplaint) {
  ConnectionLimits limits = Patient();
  limits.idle_time = milliseconds(1);
  Open(limits);
  EXPECT_FALSE(connection_->WaitForRequest());
  EXPECT_EQ(connection_->end(), End::kClosed);
}

TEST_F(ConnectionTest, AStopEndsAllWaits) {
  Open(Patient());
  Send("ab");
  ASSERT_TRUE(connection_->WaitForRequest());
  Stop();
  EXPECT_EQ(Read(3), "ab");
  EXPECT_EQ(connection_->end(), End::kStopped);
  EXPECT_FALSE(connection_->WaitForRequest());
}

TEST_F(ConnectionTest, APeerThatDoesNotReadIsNotWaitedForLonger) {
  ConnectionLimits limits = Patient();
  limits.write_time = milliseconds(1);
  Open(limits);
  // NOLINTNEXTLINE(bugprone-string-constructor): more than the system's buffers
  const std::string answer(16'000'000, 'x');
  EXPECT_EQ(connection_->Write(answer.data(), answer.size()), -1);
}

TEST_F(ConnectionTest, WritingToAPeerThatIsGoneFails) {
  Open(Patient());
  HangUp();
  EXPECT_EQ(connection_->Write("abc", 3), -1);
}

}  // namespace
}  // namespace orrery::serve
