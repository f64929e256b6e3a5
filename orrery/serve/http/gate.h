#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "orrery/base/error.h"
#include "orrery/serve/http/request.h"

namespace orrery::serve {

inline constexpr std::size_t kMostTargetBytes = 4'096;
inline constexpr std::size_t kMostPathBytes = 256;
inline constexpr std::size_t kMostBodyBytes = 65'536;
inline constexpr std::size_t kMostHeaderFields = 100;

struct HeaderField {
  std::string_view name;
  std::string_view value;
};

/// The head of a request as it came from outside.
struct RawRequest {
  std::string_view method;
  std::string_view target;  // not decoded: "/TOKEN/api/slices?run=0"
  std::span<const HeaderField> fields;
};

/// Why a request is not answered: a status of HTTP (4xx) and a sentence that gives nothing away.
struct Refusal {
  int status = 400;
  std::string sentence;
};

/// Decides which requests are answered: those that know the token, name this server as Host
/// (a page of another site that lets its name resolve to this address does not), do not come from
/// another site and keep the limits. Pure: no sockets, no state.
class Gate {
 public:
  /// For a server that listens on `address`, an IP address, and `port`. Where it is "0.0.0.0" or
  /// "::", any IP address may be the Host: another site needs a name to get there.
  Gate(std::string token, const std::string& address, int port);

  /// Returns the request without its body, or why it is refused.
  [[nodiscard]] tl::expected<Request, Refusal> Admit(const RawRequest& raw) const;

  /// One line about a refused request, without the token and without characters that would act on
  /// a terminal. `peer` is the address it came from.
  [[nodiscard]] std::string LogLine(const RawRequest& raw, std::string_view peer,
                                    const Refusal& refusal) const;

  /// Returns `text` as it may stand in a log.
  [[nodiscard]] std::string Redacted(std::string_view text) const;

 private:
  using Check = std::optional<Refusal>;

  [[nodiscard]] Check CheckHost(const RawRequest& raw) const;
  [[nodiscard]] bool IsServedHost(std::string_view host) const;
  [[nodiscard]] tl::expected<std::string_view, Refusal> PathBehindToken(
      std::string_view path) const;

  std::string token_;
  int port_;
  bool is_any_address_;
  std::vector<std::string> hosts_;  // values that are allowed in the field Host
};

/// Returns 128 random bits of the system as 32 hexadecimal digits.
[[nodiscard]] Result<std::string> RandomToken();

/// Compares in a time that depends on the lengths alone.
[[nodiscard]] bool SameSecret(std::string_view a, std::string_view b);

/// "127.0.0.1:8787", "[::1]:8787".
[[nodiscard]] std::string HostAndPort(std::string_view address, int port);

}  // namespace orrery::serve
