#include "orrery/base/text/visible_text.h"

#include <array>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/document/json_text.h"

namespace orrery {
namespace {

bool IsInvisible(char32_t c) {
  constexpr auto kRanges = std::to_array<std::pair<char32_t, char32_t>>({
      {0x00, 0x08},      // control characters up to the tab,
      {0x0b, 0x1f},      // and after the line end
      {0x7f, 0x9f},      // DEL and the second set, which terminals obey, too
      {0xad, 0xad},      // soft hyphen
      {0x61c, 0x61c},    // Arabic letter mark
      {0x200b, 0x200f},  // blanks without width, marks of direction
      {0x2028, 0x202e},  // ends of lines and paragraphs, embeddings and overrides of direction
      {0x2060, 0x206f},  // word joiner, isolates of direction
      {0xfeff, 0xfeff},  // byte order mark
  });
  for (const auto& [first, last] : kRanges) {
    if (c >= first && c <= last) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string VisibleText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    const std::string_view bytes = text.substr(0, first.num_bytes);
    if (!first.is_valid) {
      for (const char byte : bytes) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else if (IsInvisible(first.value)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(first.value));
    } else {
      out += bytes;
    }
    text.remove_prefix(first.num_bytes);
  }
  return out;
}

}  // namespace orrery
