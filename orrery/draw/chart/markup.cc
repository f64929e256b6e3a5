#include "orrery/draw/chart/markup.h"

#include "orrery/base/utf8.h"

namespace orrery::draw {
namespace {

std::string_view EntityOf(char32_t value) {
  switch (value) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

bool IsControl(char32_t value) {
  return (value < 0x20 && value != '\n' && value != '\t') || (value >= 0x7f && value < 0xa0);
}

}  // namespace

std::string EscapeMarkup(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint first = FirstCodePoint(text);
    const std::string_view entity = EntityOf(first.value);
    if (!first.is_valid || IsControl(first.value)) {
      out += kReplacementCharacter;
    } else {
      out += entity.empty() ? text.substr(0, first.num_bytes) : entity;
    }
    text.remove_prefix(first.num_bytes);
  }
  return out;
}

}  // namespace orrery::draw
