#include "orrery/serve/http/request.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/document/json_text.h"
#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"

namespace orrery::serve {
namespace {

constexpr std::size_t kMostValues = 16;
constexpr std::size_t kMostTextBytes = 1'000;

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower >= 'a' && lower <= 'f' ? std::optional(lower - 'a' + 10) : std::nullopt;
}

/// The byte that an escape like "%2f" at the begin of `text` stands for. Zero is none: no text of
/// ours has one, and C interfaces would cut there.
std::optional<char> EscapedByte(std::string_view text) {
  if (text.size() < 3) {
    return std::nullopt;
  }
  const std::optional<int> high = HexDigit(text[1]);
  const std::optional<int> low = HexDigit(text[2]);
  if (!high || !low || (*high == 0 && *low == 0)) {
    return std::nullopt;
  }
  return static_cast<char>(*high * 16 + *low);
}

/// A plus is a blank, as URLSearchParams writes it.
std::optional<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const std::optional<char> byte = EscapedByte(text.substr(i));
    if (!byte) {
      return std::nullopt;
    }
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

bool IsPrintable(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') {
      return false;
    }
  }
  return true;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!first.is_valid) {
      return false;
    }
    text.remove_prefix(first.num_bytes);
  }
  return true;
}

Result<std::pair<std::string, std::string>> ParsePair(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return Invalid("the part of an address behind ? is made of name=value");
  }
  auto name = Decoded(text.substr(0, equals));
  auto value = Decoded(text.substr(equals + 1));
  if (!name || !value) {
    return Invalid("an address has an escape that is no %XX");
  }
  return std::pair(*std::move(name), *std::move(value));
}

}  // namespace

Result<Query> Query::Parse(std::string_view text) {
  if (!IsPrintable(text)) {
    return Invalid("an address has only printable ASCII characters");
  }
  std::map<std::string, std::string, std::less<>> values;
  bool is_last = text.empty();
  while (!is_last) {
    if (values.size() == kMostValues) {
      return Invalid("an address has at most {} values", kMostValues);
    }
    const std::size_t end = text.find('&');
    is_last = end == std::string_view::npos;
    ORRERY_TRY(auto pair, ParsePair(text.substr(0, end)));
    if (!values.insert(std::move(pair)).second) {
      return Invalid("an address gives a value twice");
    }
    text.remove_prefix(is_last ? text.size() : end + 1);
  }
  return Query(std::move(values));
}

Result<std::optional<std::int64_t>> Query::Number(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return std::nullopt;
  }
  const auto number = ParseWhole<std::int64_t>(found->second);
  if (!number) {
    return Invalid("{} must be a whole number", name);
  }
  return number;
}

Result<std::string> Query::Text(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return std::string();
  }
  if (found->second.size() > kMostTextBytes) {
    return Invalid("{} has more than {} bytes", name, kMostTextBytes);
  }
  if (!IsUtf8(found->second)) {
    return Invalid("{} is not UTF-8", name);
  }
  return found->second;
}

}  // namespace orrery::serve
