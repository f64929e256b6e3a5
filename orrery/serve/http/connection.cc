#include "orrery/serve/http/connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include <netinet/in.h>  // NOLINT(misc-include-cleaner): IPPROTO_TCP
#include <netinet/tcp.h>
#include <sys/poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

namespace orrery::serve {
namespace {

constexpr std::size_t kMostDiscardedBytes = 1'048'576;
constexpr std::chrono::milliseconds kLingerTime{500};

bool IsInterrupted() {
  return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
}

}  // namespace

Connection::Connection(int socket, int stop_event, const ConnectionLimits& limits)
    : socket_(socket), stop_event_(stop_event), limits_(limits) {
  // Without it an answer waits for the acknowledgement of the one before, 40 ms.
  const int on = 1;
  setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Connection::~Connection() {
  LetPeerRead();
  close(socket_);
}

// Closing with unread bytes resets the connection, and the peer loses the refusal it has not read.
void Connection::LetPeerRead() {
  shutdown(socket_, SHUT_WR);
  const auto deadline = Clock::now() + kLingerTime;
  ssize_t num_read = 1;
  for (std::size_t total = 0; num_read > 0 && total < kMostDiscardedBytes;) {
    if (WaitFor(POLLIN, deadline) != End::kNone) {
      return;
    }
    num_read = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    total += num_read > 0 ? static_cast<std::size_t>(num_read) : 0;
  }
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

bool Connection::WaitForRequest() {
  if (end_ != End::kNone) {
    return false;
  }
  if (buffer_begin_ == buffer_end_) {
    const End waited = WaitFor(POLLIN, Clock::now() + limits_.idle_time);
    if (waited != End::kNone) {
      end_ = waited == End::kTooSlow ? End::kClosed : waited;  // nothing was asked
      return false;
    }
  }
  deadline_ = Clock::now() + limits_.request_time;
  bytes_left_ = limits_.request_bytes;
  return buffer_begin_ < buffer_end_ || Fill(deadline_);
}

bool Connection::Fill(Clock::time_point deadline) {
  while (end_ == End::kNone) {
    end_ = WaitFor(POLLIN, deadline);
    if (end_ != End::kNone) {
      return false;
    }
    const ssize_t num_read = recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (num_read > 0) {
      buffer_begin_ = 0;
      buffer_end_ = static_cast<std::size_t>(num_read);
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
  if (buffer_begin_ == buffer_end_ && !Fill(deadline_)) {
    return end_ == End::kClosed ? 0 : -1;
  }
  const std::size_t num_bytes = std::min({size, buffer_end_ - buffer_begin_, bytes_left_});
  std::memcpy(data, buffer_.data() + buffer_begin_, num_bytes);
  buffer_begin_ += num_bytes;
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
