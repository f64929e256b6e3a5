#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>

#include <httplib.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "orrery/serve/http/connection.h"
#include "orrery/serve/http/gate.h"
#include "orrery/serve/http/waiting_room.h"

// For server.cc alone: httplib.h takes seconds to compile.
//
// What cpp-httplib 0.11 does: accept connections, parse heads, read bodies, write answers. What it
// does not do, and is done here:
// - A thread of its pool belongs to a connection as long as that is open, even idle: thirty slow
//   clients without the token would keep all others waiting. So the pool gets a connection when the
//   head of a request is whole, and the WaitingRoom has it before and after; a semaphore bounds the
//   answers that are made at once.
// - Nothing bounds the length of a line, the number of fields and the time that a head takes:
//   Connection does.
// - Bodies in chunks, without a length, compressed or of forms are read without bound or unpacked:
//   Gate refuses them before they are read.
// - What is left of a body that was not read would be the next request: a connection ends after a
//   request with a body.
// - Answers are packed with Brotli where the browser accepts that, which takes seconds for a
//   megabyte: the field Accept-Encoding is taken away. So are ranges, of which thousands may be
//   asked for at once.
// - Ports are shared with other programs (SO_REUSEPORT), so that none is ever in use; and a server
//   that is stopped before it runs is not stopped, nor is its socket closed.

namespace orrery::serve {

inline constexpr int kMostAtOnce = 32;  // requests that are read or answered
inline constexpr int kMostWaiting = 128;

/// The form in which cpp-httplib wants a connection.
class ConnectionStream : public httplib::Stream {
 public:
  explicit ConnectionStream(Connection& connection) : connection_(connection) {}

  bool is_readable() const override { return connection_.end() == Connection::End::kNone; }

  bool is_writable() const override { return true; }

  ssize_t read(char* data, std::size_t size) override { return connection_.Read(data, size); }

  ssize_t write(const char* data, std::size_t size) override {
    return connection_.Write(data, size);
  }

  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (getpeername(connection_.socket(), reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      Describe(address, size, ip, port);
    }
  }

  void get_local_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    if (getsockname(connection_.socket(), reinterpret_cast<sockaddr*>(&address), &size) == 0) {
      Describe(address, size, ip, port);
    }
  }

  socket_t socket() const override { return connection_.socket(); }

 private:
  static void Describe(const sockaddr_storage& address, socklen_t size, std::string& ip,
                       int& port) {
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> service{};
    if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                    service.data(), service.size(), NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
      ip = host.data();
      port = std::atoi(service.data());
    }
  }

  Connection& connection_;
};

/// The queue to which the library gives new connections.
class Workers : public httplib::TaskQueue {
 public:
  using Serve = std::function<void(const WaitingRoom::Guest&)>;

  Workers(WaitingRoom& room, const Serve& serve) : room_(room), pool_(kMostAtOnce) {
    room_.Open([this, serve](const WaitingRoom::Guest& guest) {
      pool_.enqueue([guest, serve] { serve(guest); });
    });
  }

  // Taking a connection into the room is done at once. Newer versions of the library want to know
  // whether it was.
  using Enqueued =
      decltype(std::declval<httplib::TaskQueue&>().enqueue(std::declval<std::function<void()>>()));

  Enqueued enqueue(std::function<void()> take) override {
    take();
    return static_cast<Enqueued>(true);
  }

  void shutdown() override {
    room_.Close();
    pool_.shutdown();
  }

 private:
  WaitingRoom& room_;
  httplib::ThreadPool pool_;
};

/// cpp-httplib's server with connections of ours.
class Listener : public httplib::Server {
 public:
  /// `on_end` is told how connections ended, `is_known` says whether a request has the token.
  Listener(int stop_event, std::function<void(Connection::End)> on_end,
           std::function<bool(const httplib::Request&)> is_known)
      : on_end_(std::move(on_end)), is_known_(std::move(is_known)), room_(stop_event, on_end_) {
    set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    set_tcp_nodelay(true);
    // This limit is sent to browsers; the connection counts for itself.
    set_keep_alive_max_count(1'000'000);
    set_keep_alive_timeout(
        std::chrono::duration_cast<std::chrono::seconds>(ConnectionLimits().idle_time).count());
    set_payload_max_length(kMostBodyBytes);
    // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the library deletes it
    new_task_queue = [this] {
      return new Workers(room_, [this](const WaitingRoom::Guest& guest) { Serve(guest); });
    };
  }

  ~Listener() override {
    const socket_t socket = svr_sock_.exchange(INVALID_SOCKET);
    if (socket != INVALID_SOCKET) {
      close(socket);
    }
  }

  /// After binding. The library lets five connections wait; a browser that opens six would try the
  /// last one again after a second.
  void LetManyWait() { ::listen(svr_sock_, kMostWaiting); }

  [[nodiscard]] int num_connections() const { return room_.num_connections(); }

 private:
  bool process_and_close_socket(socket_t socket) override {
    room_.Add(socket);
    return true;
  }

  /// Answers all requests whose heads are there.
  void Serve(const WaitingRoom::Guest& guest) {
    bool stays = true;
    do {
      guest->BeginRequest();
      stays = ServeRequest(*guest);
      guest->EndRequest();
    } while (stays && guest->Receive() == Connection::Head::kWhole);
    if (!stays || guest->end() != Connection::End::kNone) {
      on_end_(guest->end());
    }
    room_.Return(guest, stays && guest->end() == Connection::End::kNone);
  }

  /// Returns whether another request may follow.
  bool ServeRequest(Connection& connection) {
    ConnectionStream stream(connection);
    bool is_parsed = false;
    bool has_body = false;
    bool is_last = false;
    const auto prepare = [&](httplib::Request& request) {
      is_parsed = true;
      if (is_known_(request)) {
        connection.SetKnown();
      }
      has_body = request.has_header("Content-Length") || request.has_header("Transfer-Encoding");
      request.ranges.clear();
      request.headers.erase("Accept-Encoding");
      if (has_body) {
        request.headers.erase("Connection");
        request.headers.emplace("Connection", "close");
      }
    };
    try {
      const bool is_written = Process(*this, stream, is_last, prepare);
      return is_written && is_parsed && !has_body && !is_last;
    } catch (const std::exception&) {
      return false;  // no memory, most likely: this connection ends, the others go on
    }
  }

  /// A template, because newer versions of the library want the addresses, too.
  template <typename Self>
  static bool Process(Self& self, ConnectionStream& stream, bool& is_last,
                      const std::function<void(httplib::Request&)>& prepare) {
    if constexpr (requires { self.process_request(stream, false, is_last, prepare); }) {
      return self.process_request(stream, false, is_last, prepare);
    } else {
      std::string peer;
      std::string own;
      int peer_port = 0;
      int own_port = 0;
      stream.get_remote_ip_and_port(peer, peer_port);
      stream.get_local_ip_and_port(own, own_port);
      return self.process_request(stream, peer, peer_port, own, own_port, false, is_last, prepare);
    }
  }

  std::function<void(Connection::End)> on_end_;
  std::function<bool(const httplib::Request&)> is_known_;
  WaitingRoom room_;
};

}  // namespace orrery::serve
