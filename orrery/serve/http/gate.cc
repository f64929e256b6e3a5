#include "orrery/serve/http/gate.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <tl/expected.hpp>

#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/base/text/visible_text.h"
#include "orrery/serve/http/request.h"

namespace orrery::serve {
namespace {

constexpr std::size_t kMostLoggedBytes = 200;

/// A field that may stand there once. Repeated ones are read differently by different programs.
struct SingleField {
  std::size_t count = 0;
  std::string_view value = {};
};

SingleField Find(const RawRequest& raw, std::string_view name) {
  SingleField found;
  for (const HeaderField& field : raw.fields) {
    if (SameIgnoringCase(field.name, name)) {
      ++found.count;
      found.value = field.value;
    }
  }
  return found;
}

bool IsAddress(const std::string& text) {
  in6_addr address{};
  return inet_pton(AF_INET, text.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

std::optional<Refusal> CheckForm(const RawRequest& raw) {
  if (raw.target.size() > kMostTargetBytes) {
    return Refusal{414, fmt::format("an address has at most {} bytes", kMostTargetBytes)};
  }
  if (raw.fields.size() > kMostHeaderFields) {
    return Refusal{431, fmt::format("a request has at most {} fields", kMostHeaderFields)};
  }
  if (raw.method != "GET" && raw.method != "POST") {
    return Refusal{405, "only GET and POST are answered"};
  }
  return std::nullopt;
}

/// A browser says where a request comes from; other programs say nothing, and need the token too.
std::optional<Refusal> CheckSite(const RawRequest& raw) {
  Refusal refusal = {403, "requests of other sites are not answered"};
  const SingleField site = Find(raw, "Sec-Fetch-Site");
  const bool is_same_origin = site.count == 1 && site.value == "same-origin";
  if (site.count > 0 && !is_same_origin && (site.count > 1 || site.value != "none")) {
    return refusal;
  }
  const SingleField origin = Find(raw, "Origin");
  if (origin.count == 0) {
    return std::nullopt;
  }
  const std::string own = "http://" + std::string(Find(raw, "Host").value);
  // Our referrer policy lets browsers write "null" for some requests of our own page.
  const bool is_hidden = origin.value == "null" && is_same_origin;
  const bool is_own = origin.count == 1 && (is_hidden || SameIgnoringCase(origin.value, own));
  return is_own ? std::nullopt : std::optional(refusal);
}

/// Length of the body that is announced. Digits that are too many are a large number.
std::optional<std::uint64_t> AnnouncedBytes(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return IsDigit(c); })) {
    return std::nullopt;
  }
  return ParseWhole<std::uint64_t>(text).value_or(UINT64_MAX);
}

/// The content types of HTML forms, which pages of other sites may send without asking.
bool IsForm(std::string_view type) {
  const std::string lower = LowerCase(type);
  return lower.starts_with("multipart/") || lower.starts_with("application/x-www-form-urlencoded");
}

/// A body must say its length and may not be compressed: nothing else bounds what is read.
std::optional<Refusal> CheckBody(const RawRequest& raw) {
  if (Find(raw, "Transfer-Encoding").count > 0) {
    return Refusal{411, "a body is sent with its Content-Length and not in chunks"};
  }
  const SingleField length = Find(raw, "Content-Length");
  if (length.count == 0) {
    return raw.method == "GET" ? std::nullopt
                               : std::optional(Refusal{411, "a POST needs a Content-Length"});
  }
  const std::optional<std::uint64_t> bytes = AnnouncedBytes(length.value);
  if (length.count > 1 || !bytes) {
    return Refusal{400, "Content-Length must be one whole number"};
  }
  if (*bytes > kMostBodyBytes) {
    return Refusal{413, fmt::format("a body has at most {} bytes", kMostBodyBytes)};
  }
  if (*bytes > 0 && raw.method == "GET") {
    return Refusal{400, "a GET has no body"};
  }
  if (Find(raw, "Content-Encoding").count > 0 || IsForm(Find(raw, "Content-Type").value)) {
    return Refusal{415, "a body is plain JSON"};
  }
  return std::nullopt;
}

bool IsPathCharacter(char c) {
  const char lower = LowerCase(c);
  return (lower >= 'a' && lower <= 'z') || IsDigit(c) || Contains("._-/", std::string_view(&c, 1));
}

/// None of our paths needs an escape, so that no encoded slash, dot or zero can be one.
std::optional<Refusal> CheckPath(std::string_view path) {
  const bool is_plain = std::all_of(path.begin(), path.end(), IsPathCharacter);
  if (!path.starts_with('/') || !is_plain || Contains(path, "..") || Contains(path, "//")) {
    return Refusal{400, "a path has only letters, digits and . _ - between its slashes"};
  }
  if (path.size() > kMostPathBytes) {
    return Refusal{400, fmt::format("a path has at most {} bytes", kMostPathBytes)};
  }
  return std::nullopt;
}

/// The first part of the path is the token, or a guess that may be close to it.
std::string WithoutFirstPart(std::string_view target) {
  const std::size_t end = target.find_first_of("/?", 1);
  const std::string rest(end == std::string_view::npos ? "" : target.substr(end));
  return "/TOKEN" + rest;
}

void ReplaceAll(std::string& text, std::string_view part, std::string_view replacement) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.replace(at, part.size(), replacement);
    at += replacement.size();
  }
}

}  // namespace

Gate::Gate(std::string token, const std::string& address, int port)
    : token_(std::move(token)),
      port_(port),
      is_any_address_(address == "0.0.0.0" || address == "::") {
  for (const std::string& name : {std::string("localhost"), std::string("127.0.0.1"), address}) {
    hosts_.push_back(HostAndPort(name, port));
    if (port == 80) {
      hosts_.push_back(hosts_.back().substr(0, hosts_.back().rfind(':')));
    }
  }
}

tl::expected<Request, Refusal> Gate::Admit(const RawRequest& raw) const {
  for (const Check& check : {CheckForm(raw), CheckHost(raw), CheckSite(raw), CheckBody(raw)}) {
    if (check) {
      return tl::unexpected(*check);
    }
  }
  const std::size_t path_end = raw.target.find('?');
  const auto path = PathBehindToken(raw.target.substr(0, path_end));
  if (!path) {
    return tl::unexpected(path.error());
  }
  const bool has_query = path_end != std::string_view::npos;
  auto query = Query::Parse(has_query ? raw.target.substr(path_end + 1) : std::string_view());
  if (!query) {
    return tl::unexpected(Refusal{400, query.error().message()});
  }
  return Request{
      .path = std::string(*path), .is_post = raw.method == "POST", .query = *std::move(query)};
}

Gate::Check Gate::CheckHost(const RawRequest& raw) const {
  const SingleField host = Find(raw, "Host");
  if (host.count == 1 && IsServedHost(host.value)) {
    return std::nullopt;
  }
  return Refusal{421, "the Host of a request must be the one that orrery view printed"};
}

bool Gate::IsServedHost(std::string_view host) const {
  const auto is_same = [&](const std::string& served) { return SameIgnoringCase(served, host); };
  if (std::any_of(hosts_.begin(), hosts_.end(), is_same)) {
    return true;
  }
  const std::string port = fmt::format(":{}", port_);
  if (!is_any_address_ || !host.ends_with(port)) {
    return false;
  }
  host.remove_suffix(port.size());
  const bool has_brackets = host.starts_with('[') && host.ends_with(']');
  return IsAddress(std::string(has_brackets ? host.substr(1, host.size() - 2) : host));
}

tl::expected<std::string_view, Refusal> Gate::PathBehindToken(std::string_view path) const {
  if (const Check check = CheckPath(path)) {
    return tl::unexpected(*check);
  }
  path.remove_prefix(1);
  const std::size_t end = path.find('/');
  if (!SameSecret(path.substr(0, end), token_)) {
    return tl::unexpected(Refusal{403, "open the address that orrery view printed"});
  }
  if (end == std::string_view::npos) {
    return tl::unexpected(Refusal{404, "the address of the page ends with a slash"});
  }
  return path.substr(end + 1);
}

std::string Gate::Redacted(std::string_view text) const {
  // Before it is cut: half a token would be left otherwise.
  std::string whole(text);
  ReplaceAll(whole, token_, "TOKEN");
  std::string line = VisibleText(std::string_view(whole).substr(0, kMostLoggedBytes));
  ReplaceAll(line, "\n", "\\n");
  ReplaceAll(line, "\t", "\\t");
  ReplaceAll(line, token_, "TOKEN");  // an escape may have completed one
  return line;
}

std::string Gate::LogLine(const RawRequest& raw, std::string_view peer,
                          const Refusal& refusal) const {
  return fmt::format("refused {} {} of {} with {}: {}", Redacted(raw.method),
                     Redacted(WithoutFirstPart(raw.target)), Redacted(peer), refusal.status,
                     Redacted(refusal.sentence));
}

Result<std::string> RandomToken() {
  std::array<unsigned char, 16> bytes{};
  // So few bytes come at once or not at all.
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Fail(Error::Kind::kSystem, "the system gives no random numbers for the address");
  }
  std::string token;
  for (const unsigned char byte : bytes) {
    token += fmt::format("{:02x}", byte);
  }
  return token;
}

bool SameSecret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size() && !b.empty(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % b.size()]);
  }
  return difference == 0;
}

std::string HostAndPort(std::string_view address, int port) {
  return Contains(address, ":") ? fmt::format("[{}]:{}", address, port)
                                : fmt::format("{}:{}", address, port);
}

}  // namespace orrery::serve
