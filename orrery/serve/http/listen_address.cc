#include "orrery/serve/http/listen_address.h"

#include <cerrno>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>  // NOLINT(misc-include-cleaner): IPPROTO_TCP
#include <sys/socket.h>
#include <unistd.h>

#include "orrery/base/error.h"
#include "orrery/base/text/visible_text.h"

namespace orrery::serve {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};

using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses Numeric(const std::string& address, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  return Addresses(status == 0 ? found : nullptr);
}

/// Returns the errno of a bind, 0 if it works now.
int TryToBind(const addrinfo& address) {
  const int probe = socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0);
  if (probe < 0) {
    return errno;
  }
  const int on = 1;
  setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const int status = bind(probe, address.ai_addr, address.ai_addrlen);
  const int error = status == 0 ? 0 : errno;
  close(probe);
  return error;
}

}  // namespace

Result<std::string> ListenAddress(const std::string& listen) {
  if (listen == "localhost") {
    return "127.0.0.1";
  }
  if (listen.empty() || listen.find('\0') != std::string::npos || Numeric(listen, 0) == nullptr) {
    return Invalid("\"{}\" is not an IP address; give one of this machine, such as 127.0.0.1",
                   VisibleText(listen));
  }
  return listen;
}

Error WhyNotListening(const std::string& address, int port) {
  const Addresses numeric = Numeric(address, port);
  const int error = numeric == nullptr ? EADDRNOTAVAIL : TryToBind(*numeric);
  if (error == EADDRNOTAVAIL || error == EAFNOSUPPORT) {
    return {Error::Kind::kSystem, fmt::format("{} is not an address of this machine", address)};
  }
  if (error == EACCES || error == EPERM) {
    return {Error::Kind::kSystem,
            fmt::format("port {} of {} needs rights that this user does not have; choose one from "
                        "1024 on with --port",
                        port, address)};
  }
  if (port == 0) {
    return {Error::Kind::kSystem, fmt::format("{} has no free port", address)};
  }
  return {Error::Kind::kSystem,
          fmt::format("port {} of {} is in use; choose another with --port, or leave it out for a "
                      "free one",
                      port, address)};
}

}  // namespace orrery::serve
