#include "orrery/serve/http/server.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <httplib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/base/text.h"
#include "orrery/serve/http/connection.h"
#include "orrery/serve/http/gate.h"
#include "orrery/serve/http/listen_address.h"
#include "orrery/serve/http/request.h"

// What cpp-httplib 0.11 does: accept connections, parse heads, read bodies, write answers. What it
// does not do, and is done here:
// - A thread of its pool belongs to a connection as long as that is open, even idle; a browser
// opens
//   six. So the pool has a thread for each of kMostConnections, and a semaphore bounds the answers
//   that are made at once. Further connections wait in the queue of the pool, which has no bound
//   but that of open files; they are not refused.
// - Nothing bounds the length of a line, the number of fields and the time that a head takes:
//   Connection does.
// - Bodies in chunks, without a length, compressed or of forms are read without bound or unpacked:
//   Gate refuses them before they are read.
// - What is left of a body that was not read would be the next request: a connection ends after a
//   request with a body.
// - Answers are packed with Brotli at its slowest level where the browser accepts that, which
//   browsers do on loopback: the field Accept-Encoding is taken away. So are ranges, which would be
//   cut out of refusals, too.
// - Ports are shared with other programs (SO_REUSEPORT), so that none is ever in use; and a server
//   that is stopped before it runs is not stopped, nor is its socket closed.

namespace orrery::serve {
namespace {

constexpr int kMostConnections = 32;
constexpr int kMostWaiting = 128;

httplib::Headers SecurityFields() {
  return {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
       "connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
       "form-action 'none'"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Referrer-Policy", "no-referrer"},  // the address has the token
      {"X-Content-Type-Options", "nosniff"},
  };
}

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

/// cpp-httplib's server with connections of ours.
class Listener : public httplib::Server {
 public:
  /// `on_end` is told how connections ended.
  Listener(int stop_event, std::function<void(Connection::End)> on_end)
      : stop_event_(stop_event), on_end_(std::move(on_end)) {
    set_socket_options([](socket_t socket) {
      const int on = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    });
    set_tcp_nodelay(true);
    // Told to browsers; the connection counts for itself.
    set_keep_alive_max_count(1'000'000);
    set_keep_alive_timeout(
        std::chrono::duration_cast<std::chrono::seconds>(ConnectionLimits().idle_time).count());
    set_payload_max_length(kMostBodyBytes);
    new_task_queue = [] { return new httplib::ThreadPool(kMostConnections); };
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

  [[nodiscard]] int num_connections() const { return num_connections_; }

 private:
  bool process_and_close_socket(socket_t socket) override {
    ++num_connections_;
    {
      Connection connection(socket, stop_event_, {});
      ConnectionStream stream(connection);
      while (connection.WaitForRequest() && ServeRequest(stream)) {
      }
      on_end_(connection.end());
    }
    --num_connections_;
    return true;
  }

  /// Returns whether another request may follow.
  bool ServeRequest(ConnectionStream& stream) {
    bool is_parsed = false;
    bool has_body = false;
    bool is_last = false;
    const auto prepare = [&](httplib::Request& request) {
      is_parsed = true;
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

  int stop_event_;
  std::function<void(Connection::End)> on_end_;
  std::atomic<int> num_connections_ = 0;
};

/// The head of a request in the form in which the gate reads it.
class RawHead {
 public:
  explicit RawHead(const httplib::Request& request) : request_(request) {
    for (const auto& [name, value] : request.headers) {
      // Added by the library itself.
      if (!name.starts_with("REMOTE_") && !name.starts_with("LOCAL_")) {
        fields_.push_back({name, value});
      }
    }
  }

  [[nodiscard]] RawRequest view() const { return {request_.method, request_.target, fields_}; }

 private:
  const httplib::Request& request_;
  std::vector<HeaderField> fields_;
};

/// Sentences for what the library refuses before the gate sees it.
std::string_view SentenceOf(int status) {
  switch (status) {
    case 413:
      return "the body is too long";
    case 414:
      return "the address is too long";
    case 416:
      return "parts of answers are not served";
    default:
      return status < 500 ? "the request is not one of HTTP/1.1" : "the request cannot be answered";
  }
}

class HttplibServer : public Server {
 public:
  HttplibServer(const ServerOptions& options, int stop_event, Handler& handler)
      : log_(options.log),
        handler_(handler),
        stop_event_(stop_event),
        answers_(std::max(1, options.threads)),
        listener_(stop_event, [this](Connection::End end) { LogEnd(end); }) {}

  ~HttplibServer() override { close(stop_event_); }

  Status Bind(const std::string& address, int port, const std::string& token) {
    const bool is_any = address == "0.0.0.0";
    const bool is_any_v6 = address == "::";
    if (port == 0) {
      port_ = listener_.bind_to_any_port(address);
    } else {
      port_ = listener_.bind_to_port(address, port) ? port : -1;
    }
    if (port_ <= 0) {
      return tl::unexpected(WhyNotListening(address, port));
    }
    listener_.LetManyWait();
    gate_.emplace(token, address, port_);
    const std::string shown = is_any ? "127.0.0.1" : is_any_v6 ? "::1" : address;
    address_ = fmt::format("http://{}/{}/", HostAndPort(shown, port_), token);
    Route();
    return {};
  }

  [[nodiscard]] int port() const override { return port_; }

  [[nodiscard]] std::string address() const override { return address_; }

  [[nodiscard]] int num_connections() const override { return listener_.num_connections(); }

  void Run() override {
    {
      const std::lock_guard lock(mutex_);
      if (is_stopped_ || has_run_) {
        return;
      }
      has_run_ = true;
    }
    listener_.listen_after_bind();
    is_done_ = true;
  }

  void Stop() override {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_stopped_, true)) {
      return;
    }
    eventfd_write(stop_event_, 1);
    // The library forgets a stop that comes before it listens.
    while (has_run_ && !is_done_ && !listener_.is_running()) {
      std::this_thread::yield();
    }
    listener_.stop();
  }

 private:
  using Outcome = httplib::Server::HandlerResponse;

  void Route() {
    listener_.set_default_headers(SecurityFields());
    listener_.set_pre_routing_handler([this](const auto& request, auto& response) {
      return AnswerWithoutBody(request, response);
    });
    listener_.Post(
        ".*", [this](const auto& request, auto& response) { AnswerWithBody(request, response); });
    listener_.set_error_handler(httplib::Server::HandlerWithResponse(
        [this](const auto& request, auto& response) { return ExplainStatus(request, response); }));
  }

  /// Before the library reads a body. Leaves to it only what has one that may be read.
  Outcome AnswerWithoutBody(const httplib::Request& request, httplib::Response& response) {
    const RawHead head(request);
    const auto admitted = gate_->Admit(head.view());
    if (!admitted) {
      Refuse(request, admitted.error(), response);
      return Outcome::Handled;
    }
    if (admitted->is_post) {
      return Outcome::Unhandled;
    }
    Answer(request, *admitted, response);
    return Outcome::Handled;
  }

  void AnswerWithBody(const httplib::Request& request, httplib::Response& response) {
    const RawHead head(request);
    auto admitted = gate_->Admit(head.view());
    if (!admitted) {
      Refuse(request, admitted.error(), response);
      return;
    }
    admitted->body = request.body;
    Answer(request, *admitted, response);
  }

  void Answer(const httplib::Request& raw, const Request& request, httplib::Response& response) {
    serve::Response answer = SafeAnswer(request);
    if (answer.status >= 400) {
      Refuse(raw, {answer.status, std::move(answer.body)}, response);
      return;
    }
    Write(answer.status, std::move(answer.body), answer.type, response);
    response.set_header("Cache-Control", answer.max_age_s > 0
                                             ? fmt::format("private, max-age={}", answer.max_age_s)
                                             : "no-store");
  }

  serve::Response SafeAnswer(const Request& request) {
    answers_.acquire();
    serve::Response answer = CaughtAnswer(request);
    answers_.release();
    return answer;
  }

  serve::Response CaughtAnswer(const Request& request) {
    try {
      return handler_.Answer(request);
    } catch (const std::exception& problem) {
      Log(fmt::format("an answer failed: {}", gate_->Redacted(problem.what())));
    } catch (...) {
      Log("an answer failed");
    }
    return {.status = 500, .body = "the answer failed; the log of orrery view says why"};
  }

  void Refuse(const httplib::Request& request, const Refusal& refusal,
              httplib::Response& response) {
    const RawHead head(request);
    const std::string sentence(refusal.sentence.empty() ? SentenceOf(refusal.status)
                                                        : std::string_view(refusal.sentence));
    Log(gate_->LogLine(head.view(), request.remote_addr, {refusal.status, sentence}));
    Write(refusal.status, sentence + "\n", "text/plain; charset=utf-8", response);
    response.set_header("Cache-Control", "no-store");
    if (refusal.status == 405) {
      response.set_header("Allow", "GET, POST");
    }
  }

  Outcome ExplainStatus(const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) {
      return Outcome::Unhandled;
    }
    Refuse(request, {response.status, ""}, response);
    return Outcome::Handled;
  }

  static void Write(int status, std::string body, const std::string& type,
                    httplib::Response& response) {
    response.status = status;
    response.body = std::move(body);
    response.set_header("Content-Type", type);
  }

  void LogEnd(Connection::End end) {
    if (end == Connection::End::kTooLong) {
      Log("refused a request that is too long");
    } else if (end == Connection::End::kTooSlow) {
      Log("refused a request that takes too long");
    }
  }

  void Log(const std::string& line) {
    if (log_) {
      log_(line);
    }
  }

  std::function<void(const std::string&)> log_;
  Handler& handler_;
  int stop_event_;
  std::counting_semaphore<> answers_;
  Listener listener_;
  std::optional<Gate> gate_ = {};
  int port_ = 0;
  std::string address_ = {};
  std::mutex mutex_;
  bool is_stopped_ = false;
  bool has_run_ = false;
  std::atomic<bool> is_done_ = false;
};

bool IsToken(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return IsDigit(c) || (LowerCase(c) >= 'a' && LowerCase(c) <= 'z') || c == '-' || c == '_';
  });
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Listen(const ServerOptions& options, Handler& handler) {
  ORRERY_TRY(const std::string address, ListenAddress(options.listen));
  ORRERY_TRY(const std::string random, RandomToken());
  const std::string token = options.token.empty() ? random : options.token;
  if (!IsToken(token)) {
    return Invalid("a token has only letters, digits, - and _");
  }
  if (options.port < 0 || options.port > 65'535) {
    return Invalid("a port is a number from 0 to 65535");
  }
  const int stop_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_event < 0) {
    return Fail(Error::Kind::kSystem, "too many files are open");
  }
  auto server = std::make_unique<HttplibServer>(options, stop_event, handler);
  ORRERY_TRY_STATUS(server->Bind(address, options.port, token));
  return server;
}

}  // namespace orrery::serve
