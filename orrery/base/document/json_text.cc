#include "orrery/base/document/json_text.h"

#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace orrery {
namespace {

struct Lead {
  std::size_t num_bytes = 0;  // 0: no character begins with this byte
  // What the second byte may be: narrower than 80–BF where overlong forms, surrogates or values
  // above 10FFFF would begin.
  unsigned second_min = 0x80;
  unsigned second_max = 0xbf;
};

Lead ReadLead(unsigned byte) {
  if (byte >= 0xc2 && byte <= 0xdf) {
    return {.num_bytes = 2};
  }
  if (byte >= 0xe0 && byte <= 0xef) {
    return {.num_bytes = 3,
            .second_min = byte == 0xe0 ? 0xa0U : 0x80U,
            .second_max = byte == 0xed ? 0x9fU : 0xbfU};
  }
  if (byte >= 0xf0 && byte <= 0xf4) {
    return {.num_bytes = 4,
            .second_min = byte == 0xf0 ? 0x90U : 0x80U,
            .second_max = byte == 0xf4 ? 0x8fU : 0xbfU};
  }
  return {};
}

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

CodePoint FirstCodePoint(std::string_view text) {
  const auto byte = [&](std::size_t index) {
    return static_cast<unsigned>(static_cast<unsigned char>(text[index]));
  };
  if (byte(0) < 0x80) {
    return {.value = byte(0)};
  }
  const Lead lead = ReadLead(byte(0));
  char32_t value = byte(0) & (0xffU >> (lead.num_bytes + 1));
  for (std::size_t index = 1; index < lead.num_bytes; ++index) {
    const unsigned min = index == 1 ? lead.second_min : 0x80;
    const unsigned max = index == 1 ? lead.second_max : 0xbf;
    if (index >= text.size() || byte(index) < min || byte(index) > max) {
      return {.value = 0xfffd, .num_bytes = index, .is_valid = false};
    }
    value = (value << 6) | (byte(index) & 0x3fU);
  }
  if (lead.num_bytes == 0) {
    return {.value = 0xfffd, .num_bytes = 1, .is_valid = false};
  }
  return {.value = value, .num_bytes = lead.num_bytes};
}

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
