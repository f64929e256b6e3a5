#include "orrery/ingest/json/json_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "orrery/base/document/json_text.h"

namespace orrery::ingest {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

void AppendUtf8(std::uint32_t code, std::string& out) {
  const auto put = [&](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

// The four hexadecimal digits at `at`, or nothing.
std::optional<std::uint32_t> HexAt(std::string_view text, std::size_t at) {
  std::uint32_t code = 0;
  const std::string_view digits = text.substr(std::min(at, text.size()), 4);
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
  const bool is_whole = error == std::errc() && stop == digits.data() + 4;
  return is_whole ? std::optional(code) : std::nullopt;
}

// Appends the character of a \u escape whose digits begin at `at`; returns where it ends. Lone
// surrogates become the replacement character.
std::size_t AppendUnicodeEscape(std::string_view text, std::size_t at, std::string& out) {
  const auto first = HexAt(text, at);
  if (!first) {
    AppendUtf8(kReplacement, out);
    return at;
  }
  at += 4;
  if (*first < 0xD800 || *first > 0xDFFF) {
    AppendUtf8(*first, out);
    return at;
  }
  if (*first < 0xDC00 && text.substr(at).starts_with("\\u")) {
    const auto second = HexAt(text, at + 2);
    if (second && *second >= 0xDC00 && *second <= 0xDFFF) {
      AppendUtf8(0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00), out);
      return at + 6;
    }
  }
  AppendUtf8(kReplacement, out);
  return at;
}

char SimpleEscape(char c) {
  constexpr std::string_view kLetters = "ntrbf";
  constexpr std::string_view kCharacters = "\n\t\r\b\f";
  const std::size_t at = kLetters.find(c);
  return at == std::string_view::npos ? c : kCharacters[at];
}

}  // namespace

std::string_view TextOf(std::string_view token, std::string& buffer) {
  const std::string_view text = Unquoted(token);
  if (text.find('\\') == std::string_view::npos || !IsQuoted(token)) {
    return text;
  }
  buffer.clear();
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\\' || at + 1 == text.size()) {
      buffer.push_back(text[at++]);
    } else if (text[at + 1] == 'u') {
      at = AppendUnicodeEscape(text, at + 2, buffer);
    } else {
      buffer.push_back(SimpleEscape(text[at + 1]));
      at += 2;
    }
  }
  return buffer;
}

void JsonFields::AddJson(std::string_view name, std::string_view json) {
  text_ += text_.empty() ? "" : ",";
  text_ += QuoteJson(name);
  text_ += ':';
  text_ += json;
}

}  // namespace orrery::ingest
