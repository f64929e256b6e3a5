#pragma once

#include <functional>
#include <memory>
#include <string>

#include "orrery/base/error.h"
#include "orrery/serve/http/request.h"

namespace orrery::serve {

struct ServerOptions {
  std::string listen = "127.0.0.1";  // an IP address of this machine, or "localhost"
  int port = 0;                      // 0: any that is free
  std::string token = {};            // empty: a random one
  int threads = 4;                   // answers that are made at once
  /// One line about each request that is refused; must be thread-safe.
  std::function<void(const std::string&)> log = {};
};

/// Serves one handler over HTTP to those who know the token.
class Server {
 public:
  /// Begins to listen. Fails with a sentence for a port in use and an address that is not of this
  /// machine. `handler` must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<Server>> Listen(const ServerOptions& options,
                                                              Handler& handler);
  /// Not while Run goes on.
  virtual ~Server() = default;

  [[nodiscard]] virtual int port() const = 0;

  /// "http://127.0.0.1:8787/TOKEN/".
  [[nodiscard]] virtual std::string address() const = 0;

  /// Serves until Stop; once.
  virtual void Run() = 0;

  /// Ends Run, or keeps it from beginning; answers that are being made are waited for. From any
  /// thread; safe in a signal handler it is not.
  virtual void Stop() = 0;

  /// Number of connections that wait or are being served.
  [[nodiscard]] virtual int num_connections() const = 0;
};

}  // namespace orrery::serve
