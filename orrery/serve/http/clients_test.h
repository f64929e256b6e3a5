#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <dirent.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

#include "orrery/serve/http/request.h"

namespace orrery::serve {

/// Waits for what other threads will do; fails only where they hang.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

class EchoHandler : public Handler {
 public:
  Response Answer(const Request& request) override {
    if (request.path == "throw") {
      throw std::runtime_error("a\nproblem");
    }
    if (request.path == "throw-number") {
      throw 1;
    }
    if (request.path == "missing") {
      return {.status = 404, .body = "there is no such thing"};
    }
    if (request.path == "large") {
      return {.body = std::string(8'000'000, 'x')};
    }
    if (request.path == "tile") {
      return {.type = "application/octet-stream", .body = std::string("\0\1", 2), .max_age_s = 60};
    }
    return {.body = "{\"path\": \"" + request.path + "\", \"body\": \"" + request.body + "\"}"};
  }
};

/// A connection of a program that need not follow HTTP.
class RawClient {
 public:
  explicit RawClient(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    const timeval patience = {60, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  }

  ~RawClient() { close(socket_); }

  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// Returns whether the server took all of it.
  bool Send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t sent = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void SendEnd() const { shutdown(socket_, SHUT_WR); }

  /// Everything until the server closes the connection, which it must.
  std::string ReadAll() const {
    std::string all;
    std::array<char, 4'096> buffer{};
    ssize_t num_read = 1;
    while (num_read > 0) {
      num_read = recv(socket_, buffer.data(), buffer.size(), 0);
      all.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(num_read, 0)));
    }
    const bool is_hanging = num_read < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    EXPECT_FALSE(is_hanging) << "the server keeps the connection open";
    return all;
  }

 private:
  int socket_;
};

/// Of this process.
inline int NumOpenFiles() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  int num_files = 0;
  while (readdir(folder.get()) != nullptr) {
    ++num_files;
  }
  return num_files;
}

}  // namespace orrery::serve
