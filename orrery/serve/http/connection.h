#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <sys/types.h>

namespace orrery::serve {

/// The limits of one connection. Times are of the wall clock.
struct ConnectionLimits {
  std::size_t request_bytes = 131'072;             // head and body of a request
  std::chrono::milliseconds request_time{10'000};  // of its head, and again of its body
  std::chrono::milliseconds idle_time{15'000};     // between two requests
  std::chrono::milliseconds write_time{60'000};    // of one answer
  std::chrono::milliseconds leave_time{500};       // for the peer to read why it was refused
};

/// A connection that somebody opened, with a bound on what it can cost: cpp-httplib reads lines and
/// fields of any length and number, and waits for each byte separately. Heads are received without
/// waiting, bodies and answers are waited for; waits end when `stop_event`, a file descriptor,
/// becomes readable. For one thread at a time.
class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  enum class End : std::uint8_t { kNone, kClosed, kTooLong, kTooSlow, kCrowded, kStopped };

  /// The part of the next request that has arrived.
  enum class Head : std::uint8_t {
    kPart,   // or nothing: more may come until the deadline
    kWhole,  // or as much as will ever come
    kNone,   // there is none: the connection has ended
  };

  /// Takes the socket and closes it at the end.
  Connection(int socket, int stop_event, const ConnectionLimits& limits);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Receives what has come of the next head; does not wait.
  [[nodiscard]] Head Receive();

  /// Until when the next head must be there, or the peer have left.
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }

  /// Ends it at its deadline: too slow, unless nothing was asked.
  void GiveUp();

  /// Gives the request whose head is there its limits.
  void BeginRequest();

  /// Another one may follow.
  void EndRequest();

  /// Reads at most `size` bytes; 0 at the end, -1 where a limit ends the connection.
  [[nodiscard]] ssize_t Read(char* data, std::size_t size);

  /// Writes all bytes, or returns -1.
  [[nodiscard]] ssize_t Write(const char* data, std::size_t size);

  /// Nothing more is written. Closing with unread bytes would reset the connection, and the peer
  /// would lose the refusal that it has not read.
  void BeginToLeave();

  /// Discards what has come since, without waiting. False: the peer has closed its end, or sends
  /// too much.
  [[nodiscard]] bool IsLeaving();

  [[nodiscard]] int socket() const { return socket_; }

  /// Why nothing more can be read.
  [[nodiscard]] End end() const { return end_; }

  /// Returns true if a request on it had the token.
  [[nodiscard]] bool is_known() const { return is_known_; }

  void SetKnown() { is_known_ = true; }

 private:
  [[nodiscard]] End WaitFor(short events, Clock::time_point deadline) const;
  [[nodiscard]] bool Fill();

  [[nodiscard]] std::size_t size_received() const { return received_.size() - begin_; }

  int socket_;
  int stop_event_;
  ConnectionLimits limits_;
  End end_ = End::kNone;
  bool is_known_ = false;
  bool has_ended_ = false;  // the peer sends nothing more
  Clock::time_point deadline_;
  std::size_t bytes_left_ = 0;  // of the request that is read
  std::size_t discarded_bytes_ = 0;
  std::string received_;
  std::size_t begin_ = 0;  // of what has not been read of it
};

}  // namespace orrery::serve
