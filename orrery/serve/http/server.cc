#include "orrery/serve/http/server.h"

#include <algorithm>
#include <atomic>
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
#include <tl/expected.hpp>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/serve/http/connection.h"
#include "orrery/serve/http/gate.h"
#include "orrery/serve/http/listen_address.h"
#include "orrery/serve/http/listener.h"
#include "orrery/serve/http/request.h"

namespace orrery::serve {
namespace {

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
        listener_(
            stop_event, [this](Connection::End end) { LogEnd(end); },
            [this](const httplib::Request& request) {
              return gate_->Admit(RawHead(request).view()).has_value();
            }) {}

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
    } else if (end == Connection::End::kCrowded) {
      Log("closed the connection that has waited longest: too many wait");
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
