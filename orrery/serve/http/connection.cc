#include "orrery/serve/http/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>

#include <netinet/in.h>  // NOLINT(misc-include-cleaner): IPPROTO_TCP
#include <netinet/tcp.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace orrery::serve {
namespace {

constexpr std::size_t kMostDiscardedBytes = 1'048'576;
constexpr std::size_t kPiece = 16'384;

// The errors of a call that would have waited, or has to be repeated.
bool IsInterrupted() {
  return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

Connection::Connection(int socket, int stop_event, const ConnectionLimits& limits)
    : socket_(socket),
      stop_event_(stop_event),
      limits_(limits),
      deadline_(Clock::now() + limits.idle_time) {
  // Without it an answer waits for the acknowledgement of the one before, 40 ms.
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Connection::~Connection() {
  close(socket_);
}

Connection::Head Connection::Receive() {
  if (end_ != End::kNone) {
    return Head::kNone;
  }
  std::array<char, kPiece> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by recv
  while (received_.find("\r\n\r\n", begin_) == std::string::npos && !has_ended_) {
    if (size_received() >= limits_.request_bytes) {
      end_ = End::kTooLong;
      return Head::kNone;
    }
    const ssize_t num_read = recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (num_read < 0 && IsInterrupted()) {
      return Head::kPart;
    }
    if (num_read > 0 && size_received() == 0) {
      deadline_ = Clock::now() + limits_.request_time;
    }
    received_.append(piece.data(), static_cast<std::size_t>(std::max<ssize_t>(num_read, 0)));
    has_ended_ = num_read <= 0;
  }
  if (size_received() == 0) {
    end_ = End::kClosed;
    return Head::kNone;
  }
  return Head::kWhole;
}

void Connection::GiveUp() {
  end_ = size_received() == 0 ? End::kClosed : End::kTooSlow;
}

void Connection::BeginRequest() {
  deadline_ = Clock::now() + limits_.request_time;
  bytes_left_ = limits_.request_bytes;
}

void Connection::EndRequest() {
  received_.erase(0, begin_);
  begin_ = 0;
  deadline_ = Clock::now() + (received_.empty() ? limits_.idle_time : limits_.request_time);
}

void Connection::BeginToLeave() {
  shutdown(socket_, SHUT_WR);
  deadline_ = Clock::now() + limits_.leave_time;
}

bool Connection::IsLeaving() {
  std::array<char, kPiece> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by recv
  ssize_t num_read = 1;
  while (num_read > 0 && discarded_bytes_ < kMostDiscardedBytes) {
    num_read = recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
    discarded_bytes_ += static_cast<std::size_t>(std::max<ssize_t>(num_read, 0));
  }
  return num_read < 0 && IsInterrupted();
}

Connection::End Connection::WaitFor(short events, Clock::time_point deadline) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    std::array<pollfd, 2> waits = {pollfd{socket_, events, 0}, pollfd{stop_event_, POLLIN, 0}};
    const int num_ready =
        poll(waits.data(), waits.size(), static_cast<int>(std::max<long long>(left, 0)));
    if (num_ready < 0 && errno != EINTR) {
      return End::kClosed;
    }
    if (num_ready > 0) {
      return waits[0].revents != 0 ? End::kNone : End::kStopped;
    }
    if (num_ready == 0) {
      return End::kTooSlow;
    }
  }
}

bool Connection::Fill() {
  received_.clear();
  begin_ = 0;
  while (end_ == End::kNone) {
    end_ = WaitFor(POLLIN, deadline_);
    if (end_ != End::kNone) {
      return false;
    }
    received_.resize(kPiece);
    const ssize_t num_read = recv(socket_, received_.data(), received_.size(), MSG_DONTWAIT);
    received_.resize(static_cast<std::size_t>(std::max<ssize_t>(num_read, 0)));
    if (num_read > 0) {
      return true;
    }
    if (num_read == 0 || !IsInterrupted()) {
      end_ = End::kClosed;
    }
  }
  return false;
}

ssize_t Connection::Read(char* data, std::size_t size) {
  if (bytes_left_ == 0) {
    end_ = end_ == End::kNone ? End::kTooLong : end_;
    return -1;
  }
  if (size_received() == 0 && !Fill()) {
    return end_ == End::kClosed ? 0 : -1;
  }
  const std::size_t num_bytes = std::min({size, size_received(), bytes_left_});
  std::memcpy(data, received_.data() + begin_, num_bytes);
  begin_ += num_bytes;
  bytes_left_ -= num_bytes;
  return static_cast<ssize_t>(num_bytes);
}

ssize_t Connection::Write(const char* data, std::size_t size) {
  const auto deadline = Clock::now() + limits_.write_time;
  std::size_t num_written = 0;
  while (num_written < size) {
    if (WaitFor(POLLOUT, deadline) != End::kNone) {
      return -1;
    }
    const ssize_t sent =
        send(socket_, data + num_written, size - num_written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && !IsInterrupted()) {
      return -1;
    }
    num_written += sent > 0 ? static_cast<std::size_t>(sent) : 0;
  }
  return static_cast<ssize_t>(size);
}

}  // namespace orrery::serve
