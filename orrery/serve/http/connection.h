#pragma once

#include <array>
#include <chrono>
#include <cstddef>

#include <poll.h>
#include <sys/types.h>

namespace orrery::serve {

/// What one connection may use. Times are of the wall clock.
struct ConnectionLimits {
  std::size_t request_bytes = 131'072;             // head and body of a request
  std::chrono::milliseconds request_time{10'000};  // from its first byte to its last
  std::chrono::milliseconds idle_time{15'000};     // between two requests
  std::chrono::milliseconds write_time{60'000};    // of one answer
};

/// A connection that somebody opened, with a bound on what it can cost: cpp-httplib reads lines and
/// fields of any length and number, and waits for each byte anew. Waits end when `stop_event`, a
/// file descriptor, becomes readable. For one thread.
class Connection {
 public:
  enum class End { kNone, kClosed, kTooLong, kTooSlow, kStopped };

  /// Takes the socket and closes it at the end.
  Connection(int socket, int stop_event, const ConnectionLimits& limits);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Waits until the next request begins, and gives it its limits. False: there is none.
  [[nodiscard]] bool WaitForRequest();

  /// Reads at most `size` bytes; 0 at the end, -1 where a limit ends the connection.
  [[nodiscard]] ssize_t Read(char* data, std::size_t size);

  /// Writes all bytes, or returns -1.
  [[nodiscard]] ssize_t Write(const char* data, std::size_t size);

  [[nodiscard]] int socket() const { return socket_; }

  /// Why nothing more can be read.
  [[nodiscard]] End end() const { return end_; }

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] End WaitFor(short events, Clock::time_point deadline) const;
  [[nodiscard]] bool Fill(Clock::time_point deadline);
  void LetPeerRead();

  int socket_;
  int stop_event_;
  ConnectionLimits limits_;
  End end_ = End::kNone;
  Clock::time_point deadline_ = {};
  std::size_t bytes_left_ = 0;
  std::array<char, 4'096> buffer_ = {};
  std::size_t buffer_begin_ = 0;
  std::size_t buffer_end_ = 0;
};

}  // namespace orrery::serve
