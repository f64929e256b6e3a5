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
using Head = Connection::Head;

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
    HangUp();
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
  HangUp();
  ASSERT_EQ(connection_->Receive(), Head::kWhole);  // as much as will come
  connection_->BeginRequest();
  EXPECT_EQ(Read(10), "abc");
  EXPECT_EQ(connection_->end(), End::kClosed);
  EXPECT_EQ(connection_->Receive(), Head::kNone);
}

TEST_F(ConnectionTest, APeerThatSaysNothingIsNoRequest) {
  Open(Patient());
  EXPECT_EQ(connection_->Receive(), Head::kPart);
  HangUp();
  EXPECT_EQ(connection_->Receive(), Head::kNone);
  EXPECT_EQ(connection_->end(), End::kClosed);
}

TEST_F(ConnectionTest, AHeadIsWholeWithItsEmptyLine) {
  Open(Patient());
  for (const char* const piece : {"GET / HTTP/1.1\r\n", "A: b\r", "\n", "\r"}) {
    Send(piece);
    EXPECT_EQ(connection_->Receive(), Head::kPart);
  }
  Send("\nbody");
  EXPECT_EQ(connection_->Receive(), Head::kWhole);
}

// Each request has 6 bytes; the second is received already.
TEST_F(ConnectionTest, EveryRequestHasItsOwnLimit) {
  ConnectionLimits limits = Patient();
  limits.request_bytes = 6;
  Open(limits);
  Send("aa\r\n\r\nbb\r\n\r\nb");
  ASSERT_EQ(connection_->Receive(), Head::kWhole);
  connection_->BeginRequest();
  EXPECT_EQ(Read(6), "aa\r\n\r\n");
  connection_->EndRequest();
  ASSERT_EQ(connection_->Receive(), Head::kWhole);
  connection_->BeginRequest();
  EXPECT_EQ(Read(7), "bb\r\n\r\n");
  EXPECT_EQ(connection_->end(), End::kTooLong);
  EXPECT_EQ(Read(1), "");
  EXPECT_EQ(connection_->Receive(), Head::kNone);
}

TEST_F(ConnectionTest, AHeadWithoutEndIsTooLong) {
  ConnectionLimits limits = Patient();
  limits.request_bytes = 4;
  Open(limits);
  Send("aaaa");
  EXPECT_EQ(connection_->Receive(), Head::kNone);
  EXPECT_EQ(connection_->end(), End::kTooLong);
}

TEST_F(ConnectionTest, HalfABodyIsNotWaitedForLonger) {
  ConnectionLimits limits = Patient();
  limits.request_time = milliseconds(1);
  Open(limits);
  Send("\r\n\r\nab");
  ASSERT_EQ(connection_->Receive(), Head::kWhole);
  connection_->BeginRequest();
  EXPECT_EQ(Read(7), "\r\n\r\nab");
  EXPECT_EQ(connection_->end(), End::kTooSlow);
}

TEST_F(ConnectionTest, WhoAskedNothingEndsWithoutComplaint) {
  Open(Patient());
  connection_->GiveUp();
  EXPECT_EQ(connection_->end(), End::kClosed);
  Open(Patient());
  Send("G");
  EXPECT_EQ(connection_->Receive(), Head::kPart);
  connection_->GiveUp();
  EXPECT_EQ(connection_->end(), End::kTooSlow);
}

// The deadline of a head begins with its first byte.
TEST_F(ConnectionTest, DeadlinesAreOfHeadsAndOfSilence) {
  ConnectionLimits limits = Patient();
  limits.request_time = milliseconds(30'000);
  Open(limits);
  const auto silent = connection_->deadline();
  Send("G");
  EXPECT_EQ(connection_->Receive(), Head::kPart);
  const auto asking = connection_->deadline();
  EXPECT_LT(asking, silent);
  Send("E");
  EXPECT_EQ(connection_->Receive(), Head::kPart);
  EXPECT_EQ(connection_->deadline(), asking);
}

TEST_F(ConnectionTest, WhoLeavesMayReadFirst) {
  Open(Patient());
  connection_->BeginToLeave();
  Send("rest");
  EXPECT_TRUE(connection_->IsLeaving());
  HangUp();
  EXPECT_FALSE(connection_->IsLeaving());
}

TEST_F(ConnectionTest, AStopEndsAllWaits) {
  Open(Patient());
  Send("\r\n\r\nab");
  ASSERT_EQ(connection_->Receive(), Head::kWhole);
  connection_->BeginRequest();
  Stop();
  EXPECT_EQ(Read(7), "\r\n\r\nab");
  EXPECT_EQ(connection_->end(), End::kStopped);
  EXPECT_EQ(connection_->Receive(), Head::kNone);
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
