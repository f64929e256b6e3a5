#include "orrery/base/json_text.h"

#include <array>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/utf8.h"

namespace orrery {
namespace {

bool NeedsEscape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

void AppendEscape(char c, std::string& out) {
  constexpr auto kShort = std::to_array<std::pair<char, std::string_view>>(
      {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\r', "\\r"}, {'\t', "\\t"}});
  for (const auto& [escaped, text] : kShort) {
    if (c == escaped) {
      out += text;
      return;
    }
  }
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
}

}  // namespace

bool IsPlainJsonText(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!first.is_valid || NeedsEscape(text.front())) {
      return false;
    }
    text.remove_prefix(first.num_bytes);
  }
  return true;
}

std::string EscapeJson(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    if (!first.is_valid) {
      out += kReplacementCharacter;
    } else if (NeedsEscape(text.front())) {
      AppendEscape(text.front(), out);
    } else {
      out += text.substr(0, first.num_bytes);
    }
    text.remove_prefix(first.num_bytes);
  }
  return out;
}

std::string QuoteJson(std::string_view text) {
  return '"' + EscapeJson(text) + '"';
}

}  // namespace orrery
